package cmd

// apply writes the answers so far into the drop-in.
func (s *setup) apply(t *setupTree) {
	s.applyServer(t)
	s.applyRuntimes(t)
	s.applySecrets(t)
	s.applyAudit(t)
}

// put writes a text, or takes its key out where it is empty.
func put(t *setupTree, path, comment, value string) {
	if value == "" {
		t.drop(path)
		return
	}
	t.set(path, comment, value)
}

func (s *setup) applyServer(t *setupTree) {
	if listen, ok := s.values["listen"]; ok {
		t.set("server.listen", "# Where the server listens.", listen)
	}
	if url, ok := s.values["base-url"]; ok {
		put(t, "server.baseUrl", "# Under which address clients reach it.", url)
	}
	cert, key := s.values["tls-cert"], s.values["tls-key"]
	switch s.values["tls"] {
	case setupNone:
		for _, name := range []string{"serverCert", "serverKey"} {
			t.drop("security.mtls." + name)
		}
		if t.text("security", "mtls", "clientAuth") == setupNone {
			t.drop("security.mtls.clientAuth")
		}
		if s.others.Security.MTLS.Enabled {
			t.set("security.mtls.enabled", "", false)
		} else {
			t.drop("security.mtls.enabled")
		}
		return
	case tlsGenerate:
		cert, key = s.tlsFile("server.crt"), s.tlsFile("server.key")
	}
	if cert == "" || key == "" {
		return
	}
	t.set("security.mtls.enabled", "# TLS. A renewed certificate in these files is taken up by itself.", true)
	t.set("security.mtls.serverCert", "", cert)
	t.set("security.mtls.serverKey", "", key)
	if s.now.Origin("security.mtls.clientAuth") == "" {
		t.set("security.mtls.clientAuth", "# Clients show API keys and no certificates.", setupNone)
	}
}

func (s *setup) applyRuntimes(t *setupTree) {
	for _, name := range []string{"local", "docker"} {
		at := "runtimes." + name
		switch s.values[name] {
		case setupYes:
			t.set(at+".plugin", map[string]string{
				"local": "# Agents on this machine.", "docker": "# Agents in containers of this machine's engine.",
			}[name], "runtime-"+name)
		case setupNo:
			t.drop(at)
		}
	}
	switch kubeconfig, ok := s.values["kubernetes"]; {
	case kubeconfig != "":
		t.set("runtimes.kubernetes.plugin", "# Agents in a cluster.", "runtime-kubernetes")
		t.set("runtimes.kubernetes.config.kubeconfig", "", kubeconfig)
	case ok:
		t.drop("runtimes.kubernetes")
	}
}

func (s *setup) applySecrets(t *setupTree) {
	const at = "security.secrets"
	provider, ok := s.values["secrets"]
	if !ok {
		return
	}
	if provider == setupNone {
		provider = ""
	}
	if provider != secretsVault {
		t.drop(at + ".vault")
		t.drop("plugins.secrets-vault")
	}
	if provider != secretsAWS {
		t.drop(at + ".aws")
	}
	put(t, at+".provider", "# Where secrets are read that configuration, patterns and requests refer to.", provider)
	put(t, at+".aws.region", "", s.values["aws-region"])
	if provider != secretsVault {
		return
	}
	put(t, at+".vault.address", "", s.values["vault-address"])
	method := s.values["vault-auth"]
	put(t, at+".vault.auth.method", "", method)
	own := map[string]string{"roleId": "", "secretIdFile": "", "tokenFile": ""}
	role, file := s.values["vault-role"], s.values["vault-file"]
	switch method {
	case "token":
		role, own["tokenFile"] = "", file
	case "approle":
		role, own["roleId"], own["secretIdFile"] = "", role, file
	}
	put(t, at+".vault.auth.role", "", role)
	for _, name := range []string{"roleId", "secretIdFile", "tokenFile"} {
		put(t, "plugins.secrets-vault.config.auth."+name, "", own[name])
	}
	if own["roleId"]+own["secretIdFile"]+own["tokenFile"] != "" {
		t.set("plugins.secrets-vault.kind", "", "secret")
	}
}

func (s *setup) applyAudit(t *setupTree) {
	const at = "security.audit"
	destination, ok := s.values["audit"]
	if !ok {
		return
	}
	for _, name := range []string{"file", "elasticsearch", "splunk", "cloudwatch"} {
		if name != destination {
			t.drop(at + "." + name)
		}
	}
	switch {
	case destination == auditOff && s.others.Security.Audit.Enabled:
		t.set(at+".enabled", "# There is no audit trail.", false)
	case destination == auditOff || s.others.Security.Audit.Enabled:
		t.drop(at + ".enabled")
	default:
		t.set(at+".enabled", "# Who did what, and what was refused.", true)
	}
	secret := ""
	if variable := s.values["audit-secret"]; variable != "" {
		secret = "${" + variable + "}"
	}
	switch destination {
	case auditStore, auditOff:
		t.drop(at + ".destination")
		return
	case "file":
		put(t, at+".file.path", "", s.values["audit-path"])
	case "elasticsearch":
		if hosts := splitNames(s.values["audit-host"]); len(hosts) > 0 {
			t.set(at+".elasticsearch.hosts", "", hosts)
		}
		put(t, at+".elasticsearch.username", "", s.values["audit-user"])
		put(t, at+".elasticsearch.password", "", secret)
	case "splunk":
		put(t, at+".splunk.host", "", s.values["audit-host"])
		put(t, at+".splunk.token", "", secret)
	case "cloudwatch":
		put(t, at+".cloudwatch.logGroup", "", s.values["audit-group"])
		put(t, at+".cloudwatch.region", "", s.values["audit-region"])
	}
	t.set(at+".destination", "# Where the audit trail goes besides the store.", destination)
}
