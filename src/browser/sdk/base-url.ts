/** The service's own URL, inserted when the script is served (src/browser/serve/script.ts). */
declare const PUBLIC_URL: string;

/** The end of a launcher's URL: `/launcher.js`, `/sdk/launcher.min.js`, `/sdk/launcher.<hash>.js` … */
const launcherPath = /(\/sdk)?\/launcher(\.\w+)*\.js([?#].*)?$/;

/**
 * Base URL of the service: from wherever this script was loaded (its element, any launcher's element, what was
 * imported), else the service's own `PUBLIC_URL`.
 */
export function findBaseUrl(page: Document): string {
  const own = (page.currentScript as HTMLScriptElement | null)?.src ?? '';
  const found = launcherPath.test(own) ? own : otherUrls(page).find((url) => launcherPath.test(url));
  return found?.replace(launcherPath, '') ?? PUBLIC_URL;
}

const otherUrls = ({ scripts }: Document): string[] => [
  ...[...scripts].map(({ src }) => src),
  ...performance.getEntriesByType('resource').map(({ name }) => name),
];
