import { normaliseUrl } from './url.ts';

export type NavigationGuardOptions = {
  /**
   * Delay before each decision, in milliseconds. It allows the `url_clicked` event for the same click to arrive first.
   * Default: 1,000.
   */
  waitMs?: number;
  /** Function that waits for the given number of milliseconds. Defaults to a timer. */
  wait?: (ms: number) => Promise<void>;
};

/**
 * Prevents the checkout web view from opening a URL that was already opened in the external browser
 * (docs/reference/web-sdk.md#web-views, clickouts).
 */
export class NavigationGuard {
  readonly #openedUrls = new Set<string>();
  readonly #waitMs: number;
  readonly #wait: (ms: number) => Promise<void>;

  constructor({ waitMs = 1_000, wait = timer }: NavigationGuardOptions = {}) {
    this.#waitMs = waitMs;
    this.#wait = wait;
  }

  /** Records a URL as opened externally. Call it before opening the URL. */
  opened(url: string): void {
    this.#openedUrls.add(normaliseUrl(url));
  }

  /**
   * Decides whether the web view may navigate to a URL. Returns `cancel` if the URL is missing or was already opened
   * externally.
   */
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
