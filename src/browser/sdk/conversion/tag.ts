/** What the attributes of the script element say. */
export type Tag = {
  /** Origin the script came from; reports go there. */
  origin: string;
  /** Parameter of the landing page's address that holds the click id. */
  param: string;
  /** Of the cookie, where pages of several hosts share the click; null: the storage of this origin. */
  cookieDomain: string | null;
  /** To be reported at once; null: nothing. */
  conversion: Record<string, string> | null;
};

const key = 'perkwire_click';
const keptForMs = 30 * 86_400_000;
const clickId = /^[A-Za-z0-9_-]{51}$/;
const cookieDomain = /^\.?[a-z0-9.-]+$/i;

export function readTag(script: HTMLScriptElement): Tag {
  const { param, event, payout, currency, txnId, cookieDomain: domain } = script.dataset;
  const conversion = { event, payout, currency, txn_id: txnId };
  return {
    origin: new URL(script.src).origin,
    param: param ?? 'click_id',
    cookieDomain: domain !== undefined && cookieDomain.test(domain) ? domain : null,
    conversion: event === undefined ? null : onlyGiven(conversion),
  };
}

const onlyGiven = (values: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );

/** Keeps the click id of the page's address, 30 days; with Global Privacy Control for as long as the tab is open. */
export function rememberClick(tag: Tag): void {
  const id = new URLSearchParams(location.search).get(tag.param) ?? '';
  if (!clickId.test(id)) return;
  attempt(() => {
    if (hasGpc()) return sessionStorage.setItem(key, id);
    if (tag.cookieDomain === null)
      return localStorage.setItem(key, JSON.stringify({ id, until: Date.now() + keptForMs }));
    const attributes = `max-age=${keptForMs / 1000}; path=/; domain=${tag.cookieDomain}; secure; samesite=lax`;
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari
    document.cookie = `${key}=${id}; ${attributes}`;
  });
}

const hasGpc = (): boolean => (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;

/** The click that led to this visit: of this address, else a remembered one; '' when there is none. */
function findClick(tag: Tag): string {
  const found = [
    () => new URLSearchParams(location.search).get(tag.param),
    () => sessionStorage.getItem(key),
    () => new RegExp(`(?:^|; )${key}=([^;]*)`).exec(document.cookie)?.[1],
    () => {
      const kept = JSON.parse(localStorage.getItem(key) ?? 'null') as { id: string; until: number } | null;
      return kept !== null && kept.until > Date.now() ? kept.id : null;
    },
  ];
  return found.map((look) => attempt(look) ?? '').find((id) => clickId.test(id)) ?? '';
}

/** Storage can be switched off, and throws then. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/**
 * Reports a conversion of the remembered click, also while the page closes.
 * @returns false when there is no click or the report was not taken
 */
export async function report(tag: Tag, conversion: Record<string, string | number>): Promise<boolean> {
  const id = findClick(tag);
  if (id === '') return false;
  const body = new URLSearchParams({ click_id: id });
  for (const [name, value] of Object.entries(conversion)) body.set(name, String(value));
  try {
    return (await fetch(`${tag.origin}/track`, { method: 'POST', body, keepalive: true, credentials: 'omit' })).ok;
  } catch {
    // The page's policy may allow pictures only.
    return new Promise((resolve) => {
      const image = new Image();
      image.onload = () => resolve(true);
      image.onerror = () => resolve(false);
      image.src = `${tag.origin}/track.png?${body}`;
    });
  }
}
