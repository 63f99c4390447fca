/** A landing page as it is stored: its origin, and the rest, in which macros such as `{click_id}` may stand. */
export type Landing = { origin: string; path: string; tail: string; needsSession: boolean };

/** Values of the macros. Absent or null ones, and macros nobody knows, become empty. */
export type LandingValues = {
  click_id: string;
  session_id: string | null;
  placement: string | null;
  pub_user_id: string | null;
  offer_id: number;
  campaign_id: number;
  publisher_id: number;
};

const stored = /^https:\/\/[^/?#\\]+([^?#]*)(.*)$/is;
const macro = /\{([A-Za-z0-9_]+)\}/g;

/** Takes a stored landing URL apart; null for anything but an https address. Macros count after the host only. */
export function parseLanding(landingUrl: string): Landing | null {
  const match = stored.exec(landingUrl);
  if (match === null || !URL.canParse(landingUrl)) return null;
  const [, path = '', tail = ''] = match;
  return { origin: new URL(landingUrl).origin, path, tail, needsSession: /\{(placement|pub_user_id)\}/.test(path + tail) };
}

/**
 * The address to send a click to (decisions section 3): macros filled, percent-encoded, and the click id added under
 * `clickIdParam` unless its macro or a parameter of that name is there already. No value can change the origin.
 */
export function fillLanding({ origin, path, tail }: Landing, clickIdParam: string, values: LandingValues): string {
  const byName: ReadonlyMap<string, string | number | null> = new Map(Object.entries(values));
  const textOf = (name: string): string => String(byName.get(name) ?? '').toWellFormed();
  // A segment of dots alone would climb out of the stored path.
  const filledPath = path.replace(macro, (_, name: string) => (/^\.+$/.test(textOf(name)) ? '' : encodeURIComponent(textOf(name))));
  const filledTail = tail.replace(macro, (_, name: string) => encodeURIComponent(textOf(name)));
  const url = new URL(origin + filledPath + filledTail);
  if (!`${path}${tail}`.includes('{click_id}') && !url.searchParams.has(clickIdParam)) {
    url.search += `${url.search === '' ? '?' : '&'}${clickIdParam}=${values.click_id}`;
  }
  if (url.origin !== origin) throw new Error('a landing page left its origin');
  return url.href;
}
