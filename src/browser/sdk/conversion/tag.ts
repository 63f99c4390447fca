import { objectOf } from '../compat.ts';
import { clickParams } from '../legacy-names.ts';
import { originStorage, tabStorage } from '../storage.ts';
import { tryCall } from '../try-call.ts';

/** Configuration of the conversion tag, from the attributes of its script element. */
export type Tag = {
  /** Origin of the script, to which conversions are sent. */
  origin: string;
  /** URL parameters of the landing page that may contain the click ID. */
  params: string[];
  /**
   * Domain of the cookie that shares the click ID between hosts. If null, the click ID is kept in the web storage of
   * this origin.
   */
  cookieDomain: string | null;
  /** Conversion to report immediately, or null. */
  conversion: Record<string, string> | null;
};

const cookieName = 'perkwire_click';
const storageKey = 'click';
const clickTtlMs = 30 * 86_400_000;
const clickId = /^[A-Za-z0-9_-]{51}$/;
const cookieDomain = /^\.?[a-z0-9.-]+$/i;

export function readTag(script: HTMLScriptElement): Tag {
  const { param, event, payout, currency, txnId, cookieDomain: domain } = script.dataset;
  const conversion = { event, payout, currency, txn_id: txnId };
  return {
    origin: new URL(script.src).origin,
    params: param === undefined ? clickParams : [param],
    cookieDomain: domain !== undefined && cookieDomain.test(domain) ? domain : null,
    conversion: event === undefined ? null : omitEmpty(conversion),
  };
}

const omitEmpty = (values: Record<string, string | undefined>): Record<string, string> =>
  objectOf(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );

/** Returns the unverified click IDs in the page's URL. */
function clickIdsInUrl({ params }: Tag): (string | null)[] {
  const query = new URLSearchParams(location.search);
  return params.map((name) => query.get(name));
}

/**
 * Stores the click ID in the page's URL for 30 days. If Global Privacy Control is on, the click ID is stored only until
 * the tab is closed.
 * @returns whether the URL contains a click ID
 */
export function rememberClick(tag: Tag): boolean {
  const id = clickIdsInUrl(tag).find((candidate) => candidate !== null && clickId.test(candidate));
  if (!id) return false;
  if (hasGpc()) tabStorage.write(storageKey, id);
  else if (tag.cookieDomain === null) originStorage.write(storageKey, { id, until: Date.now() + clickTtlMs });
  else setCookie(id, tag.cookieDomain);
  return true;
}

function setCookie(id: string, domain: string): void {
  const attributes = `max-age=${clickTtlMs / 1000}; path=/; domain=${domain}; secure; samesite=lax`;
  tryCall(() => {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari
    document.cookie = `${cookieName}=${id}; ${attributes}`;
  });
}

const hasGpc = (): boolean => (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;

/** Returns the click ID in the page's URL, or else the stored one, or else ''. */
function findClick(tag: Tag): string {
  const stored = originStorage.read(storageKey) as { id: unknown; until: number } | null | undefined;
  const candidates = [
    ...clickIdsInUrl(tag),
    tabStorage.read(storageKey),
    tryCall(() => new RegExp(`(?:^|; )${cookieName}=([^;]*)`).exec(document.cookie)?.[1]),
    stored && stored.until > Date.now() ? stored.id : null,
  ];
  return candidates.map((id) => String(id ?? '')).find((id) => clickId.test(id)) ?? '';
}

declare global {
  interface Window {
    PerkwireConversion: { track: (conversion: Record<string, string | number>) => Promise<boolean> };
  }
}

/** Exposes the functions that the page calls to report conversions. */
export function offerReports(tag: Tag): void {
  window.PerkwireConversion = { track: (conversion) => report(tag, conversion) };
}

/**
 * Reports a conversion for the stored click, even while the page unloads.
 * @returns false if there is no click or the report was rejected
 */
export async function report(tag: Tag, conversion: Record<string, string | number>): Promise<boolean> {
  const id = findClick(tag);
  if (id === '') return false;
  const body = new URLSearchParams(`click_id=${id}`);
  for (const [name, value] of Object.entries(conversion)) body.set(name, String(value));
  try {
    return (await fetch(`${tag.origin}/track`, { method: 'POST', body, keepalive: true, credentials: 'omit' })).ok;
  } catch {
    // Fall back to an image, because the page's content security policy may allow only images.
    return new Promise((resolve) => {
      const image = new Image();
      image.onload = () => resolve(true);
      image.onerror = () => resolve(false);
      image.src = `${tag.origin}/track.png?${body}`;
    });
  }
}
