package kubernetes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fieldManager names this program in what it makes.
const fieldManager = "wardroom"

// ownerName is the name of what this state directory has in the namespace beside its pods.
func (l *Launcher) ownerName() string { return "wardroom-" + l.owner }

// furnish makes what pods need in the namespace, where it is missing or was changed: the object that owns them all, whose removal
// removes them, and the network policy.
func (l *Launcher) furnish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	maps := l.cluster.core.ConfigMaps(l.cluster.namespace)
	// It is asked for each time: pods of an owner that is gone would be removed at once.
	owner, err := maps.Get(ctx, l.ownerName(), metav1.GetOptions{})
	if absent(err) {
		owner, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: l.ownerName(), Labels: l.furnitureLabels(), Annotations: map[string]string{
				annotationVersion: l.version, "wardroom.io/about": "owns the pods of an installation of Wardroom: they are removed with it",
			}},
		}, metav1.CreateOptions{FieldManager: fieldManager})
	}
	if apierrors.IsAlreadyExists(err) && !byProxy(err) { // another start was faster
		owner, err = maps.Get(ctx, l.ownerName(), metav1.GetOptions{})
	}
	if err != nil {
		return l.cluster.failed("make the owner of pods", err)
	}
	if err := l.writePolicy(ctx, owner); err != nil {
		return err
	}
	l.mu.Lock()
	l.furnished = string(owner.UID)
	l.mu.Unlock()
	return nil
}

// furnitureLabels are those of what furnish makes.
func (l *Launcher) furnitureLabels() map[string]string {
	return map[string]string{labelOwner: l.owner, "app.kubernetes.io/managed-by": "wardroom"}
}

// writePolicy has the network policy be as it has to be: without it, agents would reach everything, and everything them.
func (l *Launcher) writePolicy(ctx context.Context, owner *corev1.ConfigMap) error {
	policy := l.policy(l.furnitureLabels(), owner)
	policies := l.cluster.network.NetworkPolicies(l.cluster.namespace)
	_, err := policies.Update(ctx, policy, metav1.UpdateOptions{FieldManager: fieldManager})
	if absent(err) {
		_, err = policies.Create(ctx, policy, metav1.CreateOptions{FieldManager: fieldManager})
	}
	if err == nil || apierrors.IsAlreadyExists(err) && !byProxy(err) { // another start was faster, and writes the same
		return nil
	}
	return l.cluster.failed("write the network policy of agents", err)
}

// guard has the network policy be there for agents that run. Where the owner of their pods is gone, they are about to go as well, and
// nothing is made.
func (l *Launcher) guard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	owner, err := l.cluster.core.ConfigMaps(l.cluster.namespace).Get(ctx, l.ownerName(), metav1.GetOptions{})
	switch {
	case absent(err):
		return nil
	case err != nil:
		return l.cluster.failed("look at the owner of pods", err)
	}
	return l.writePolicy(ctx, owner)
}

// ownerReference makes a pod the owner object's.
func (l *Launcher) ownerReference() []metav1.OwnerReference {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: l.ownerName(), UID: types.UID(l.furnished)}}
}

// policy lets agents of this installation reach each other, and out where the configuration says; nothing else reaches
// them.
func (l *Launcher) policy(labels map[string]string, owner *corev1.ConfigMap) *networkingv1.NetworkPolicy {
	ours := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{labelOwner: l.owner}}}
	p := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: l.ownerName(), Labels: labels, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID,
		}}},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{labelOwner: l.owner}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{ours}}},
		},
	}
	if l.config.Egress == nil {
		p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
		return p
	}
	p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{ours}}}
	for _, text := range l.config.Egress {
		e, err := parseEgress(text)
		if err != nil {
			continue // problems has refused it
		}
		var rule networkingv1.NetworkPolicyEgressRule
		if e.dns {
			for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP} {
				rule.Ports = append(rule.Ports, portOf(protocol, 53))
			}
			rule.To = []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}
		} else {
			rule.To = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: e.prefix.String()}}}
			if e.port != 0 {
				rule.Ports = []networkingv1.NetworkPolicyPort{portOf(corev1.ProtocolTCP, e.port)}
			}
		}
		p.Spec.Egress = append(p.Spec.Egress, rule)
	}
	return p
}

func portOf(protocol corev1.Protocol, port uint16) networkingv1.NetworkPolicyPort {
	number := intstr.FromInt32(int32(port))
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &number}
}
