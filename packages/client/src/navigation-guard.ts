import { normaliseUrl } from './url.ts';

export type NavigationGuardOptions = {
  /** Milliseconds before each decision, in which `url_clicked` of the same click can arrive. Default 1,000. */
  waitMs?: number;
  /** Resolves after so many milliseconds. Default: a timer. */
  wait?: (ms: number) => Promise<void>;
};

/**
 * Keeps the checkout web view on its page: what was opened in the external browser is not opened in the web view as
 * well
 * (docs/interface.md#web-views, clickouts).
 */
export class NavigationGuard {
  readonly #openedUrls = new Set<string>();
  readonly #waitMs: number;
  readonly #wait: (ms: number) => Promise<void>;

  constructor({ waitMs = 1_000, wait = timer }: NavigationGuardOptions = {}) {
    this.#waitMs = waitMs;
    this.#wait = wait;
  }

  /** Notes a URL that is opened externally; call it before opening. */
  opened(url: string): void {
    this.#openedUrls.add(normaliseUrl(url));
  }

  /** Whether the web view may go there: not without a URL, and not to one that was opened externally. */
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
