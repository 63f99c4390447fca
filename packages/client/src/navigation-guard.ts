import { normaliseUrl } from './url.ts';

export type NavigationGuardOptions = {
  /**
   * Delay of each decision, in milliseconds, during which `url_clicked` of the same click can arrive. Default 1,000.
   */
  waitMs?: number;
  /** Waits for a time in milliseconds. Default: a timer. */
  wait?: (ms: number) => Promise<void>;
};

/**
 * Keeps the checkout web view on its page: a URL that was opened in the external browser is not also opened in the web
 * view (docs/reference/web-sdk.md#web-views, clickouts).
 */
export class NavigationGuard {
  readonly #openedUrls = new Set<string>();
  readonly #waitMs: number;
  readonly #wait: (ms: number) => Promise<void>;

  constructor({ waitMs = 1_000, wait = timer }: NavigationGuardOptions = {}) {
    this.#waitMs = waitMs;
    this.#wait = wait;
  }

  /** Records a URL that is opened externally. Call it before opening the URL. */
  opened(url: string): void {
    this.#openedUrls.add(normaliseUrl(url));
  }

  /** Whether the web view may navigate. Refuses a missing URL, and one that was opened externally. */
  async decide(url: string | null | undefined): Promise<'cancel' | 'allow'> {
    if (url === null || url === undefined || url === '') return 'cancel';
    await this.#wait(this.#waitMs);
    return this.#openedUrls.has(normaliseUrl(url)) ? 'cancel' : 'allow';
  }
}

const timer = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
