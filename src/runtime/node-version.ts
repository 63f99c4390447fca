// Imports nothing and uses old syntax only: it runs on versions of Node that cannot load the rest.

/** The oldest version that runs the service; package.json says the same. */
const minNode = '20.19';

/** One sentence when this version of Node is too old, else null. `version`: `20.19.0`. */
export function nodeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [minMajor = 0, minMinor = 0] = minNode.split('.').map(Number);
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return null;
  return `Perkwire needs Node.js ${minNode} or newer; this is ${version}.`;
}
