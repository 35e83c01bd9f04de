// Where the console is served: what the page says in its head.

function meta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";
}

/** Path that goes before each address of the server: "" or "/path". */
export const base = meta("wardroom-base");

/** Address of the files of this version of the console. */
export const assets = meta("wardroom-assets");

interface ScriptPolicy { createScriptURL(address: string): string }

// The one policy that the page has makes the address of the worker, and no other.
const policy: ScriptPolicy = (() => {
  const worker = assets + "worker.js";
  const rules = {
    createScriptURL(address: string): string {
      if (address !== worker) throw new TypeError("only the worker has an address");
      return address;
    },
  };
  const types = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): ScriptPolicy } }).trustedTypes;
  return types ? types.createPolicy("wardroom", rules) : rules;
})();

/** Address of the worker, as browsers with trusted types want it. */
export function workerAddress(): string {
  return policy.createScriptURL(assets + "worker.js");
}
