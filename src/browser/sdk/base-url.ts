/** The service's own URL, inserted when the script is served (src/browser/script.ts). */
declare const PUBLIC_URL: string;

/** End of a launcher's URL: `/launcher.js`, `/sdk/launcher.min.js`, `/sdk/launcher.<hash>.js` … */
const launcherPath = /(\/sdk)?\/launcher(\.\w+)*\.js([?#].*)?$/;

/**
 * Base URL of the service: the origin from which this script was loaded (its element, any launcher's element, or the
 * import), otherwise the service's own `PUBLIC_URL`.
 */
export function findBaseUrl(page: Document): string {
  const scripts = [page.currentScript as HTMLScriptElement | null, ...page.scripts];
  const urls = [...scripts.map((script) => script?.src ?? ''), ...loadedUrls()];
  return urls.find((url) => launcherPath.test(url))?.replace(launcherPath, '') ?? PUBLIC_URL;
}

const loadedUrls = (): string[] => performance.getEntriesByType('resource').map(({ name }) => name);
