/** Public URL of the service, inserted when the script is served (src/browser/script.ts). */
declare const PUBLIC_URL: string;

/** Matches the end of a launcher URL: `/launcher.js`, `/sdk/launcher.min.js`, `/sdk/launcher.<hash>.js` … */
const launcherPath = /(\/sdk)?\/launcher(\.\w+)*\.js([?#].*)?$/;

/**
 * Returns the base URL of the service, which is the origin that delivered the script. The origin is taken from the
 * current script element, from any launcher's script element, or from the page's list of loaded resources. If it is
 * unknown, the service's `PUBLIC_URL` is used.
 */
export function findBaseUrl(page: Document): string {
  const scripts = [page.currentScript as HTMLScriptElement | null, ...page.scripts];
  const urls = [...scripts.map((script) => script?.src ?? ''), ...loadedUrls()];
  return urls.find((url) => launcherPath.test(url))?.replace(launcherPath, '') ?? PUBLIC_URL;
}

const loadedUrls = (): string[] => performance.getEntriesByType('resource').map(({ name }) => name);
