import { ConnectionError } from './errors.ts';
import type { Ad } from './sdk.ts';

const scripts = new Map<string, Promise<Ad>>();

/**
 * Loads the launcher of a service once a page, however many units ask for it.
 * @param nonce of the page's content security policy
 * @throws ConnectionError when it cannot be loaded; the next call tries again
 */
export function loadLauncher(baseUrl: string, nonce: string | undefined): Promise<Ad> {
  const src = `${baseUrl.replace(/\/+$/, '')}/launcher.min.js`;
  let script = scripts.get(src);
  if (script === undefined) {
    script = appendScript(src, nonce);
    scripts.set(src, script);
    script.catch(() => scripts.delete(src));
  }
  return script;
}

function appendScript(src: string, nonce: string | undefined): Promise<Ad> {
  if (window.Ad !== undefined) return Promise.resolve(window.Ad);
  return new Promise((resolve, reject) => {
    const fail = (): void => {
      script.remove();
      reject(new ConnectionError(`The script ${src} cannot be loaded.`, null));
    };
    const script = document.createElement('script');
    Object.assign(script, { src, async: true, onerror: fail, ...(nonce === undefined ? {} : { nonce }) });
    script.onload = () => (window.Ad === undefined ? fail() : resolve(window.Ad));
    document.head.append(script);
  });
}
