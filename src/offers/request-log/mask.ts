/**
 * Masks recorded calls (docs/reference/debugging.md#live-calls), so that they reveal neither secrets nor values that
 * identify a user. Custom attributes are shown, as they are in reports, unless their name or value looks like a secret
 * or user data.
 */

const hidden = '•••';

/** Patterns for the names of fields that contain a secret or identify a user. */
const hiddenNames = [
  'key$|^(ad_fp|adpx_fp|fingerprint|ip|c_id|click_id)$|user(?!_agent)|name$|birth',
  'mail|phone|mobile|address|street|zip|postal|token|secret|passw|auth|cookie|iban|card',
  'coupon|^(codes|shared)$|fallback_code',
];
const hiddenName = new RegExp(hiddenNames.join('|'), 'i');
/**
 * Pattern for field names in responses. It is narrower, because responses also contain the names of campaigns and
 * advertisers.
 */
const hiddenInAnswer = /pub_user|ad_fp|mail|phone|first_name|last_name|token|secret|coupon|^codes$/i;

/**
 * Maximum number of characters of a string that are checked. The rest of the string is not shown. The limit is needed
 * because the pattern's running time grows quadratically with the length of the string.
 */
const maxRead = 256;
const personalText = /[^\s@]+@[^\s@]+\.[^\s@]+|^\+?[\d\s()-]{9,}$|^\d{1,3}(\.\d{1,3}){3}$|^[\w+/.-]{40,}$/;
const urlQuery = /(https?:\/\/[^\s"'<>?]+)\?[^\s"'<>]*/g;

/** Limits on how much of a value is shown: text length in characters, number of list items, and nesting depth. */
const maxText = 200;
const maxItems = 50;
const maxDepth = 8;
/**
 * Maximum number of hidden request values to search for in the response. If there are more, the whole response is
 * hidden.
 */
const maxHiddenTexts = 200;

export type Masked = { visible: unknown; hiddenTexts: ReadonlySet<string> };

/** Masks the fields of a request. Also returns the set of values that were hidden. */
export function maskRequest(fields: unknown): Masked {
  const hiddenTexts = new Set<string>();
  const visible = walk(fields, (name, value, holder) => {
    const isHidden = hiddenName.test(name) && !(name === 'name' && holder === 'placements');
    if (!isHidden && !(typeof value === 'string' && personalText.test(value.slice(0, maxRead)))) return value;
    if (value === null || value === '') return value;
    for (const text of textsIn(value)) if (text.length > 1) hiddenTexts.add(text);
    return hidden;
  });
  return { visible, hiddenTexts };
}

/**
 * Masks the fields of a response. Values that were hidden in its request are masked here too, for example a first name
 * in the offer copy.
 */
export function maskAnswer(fields: unknown, hiddenTexts: ReadonlySet<string>): unknown {
  if (hiddenTexts.size > maxHiddenTexts) return hidden;
  return walk(fields, (name, value) => {
    if (hiddenInAnswer.test(name)) return value === null || value === '' ? value : hidden;
    if (typeof value !== 'string') return value;
    let text = value.replace(urlQuery, '$1?…');
    for (const secret of hiddenTexts) text = text.replaceAll(secret, hidden);
    return text;
  });
}

/** Masks a text that looks like a secret or identifies a user. */
export const maskText = (text: string): string => (personalText.test(text.slice(0, maxRead)) ? hidden : text);

const textsIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((item) => (typeof item === 'object' ? [] : [String(item)]))
    : [String(value)];

/** Masks a field value. `name` is the field name, and `holder` the name of the enclosing field. */
type Mask = (name: string, value: unknown, holder: string) => unknown;

/** Copies a value, applies `change` to every field and list item, and truncates long strings. */
function walk(value: unknown, change: Mask, name = '', holder = '', depth = 0): unknown {
  const changed = change(name, value, holder);
  if (typeof changed === 'string')
    return changed.length > maxText
      ? `${[...changed.slice(0, maxText)].slice(0, -1).join('')}… (${changed.length} characters)`
      : changed;
  if (typeof changed !== 'object' || changed === null) return changed;
  if (depth === maxDepth) return '…';
  if (Array.isArray(changed))
    return changed.slice(0, maxItems).map((item) => walk(item, change, name, holder, depth + 1));
  const entries = Object.entries(changed).slice(0, 2 * maxItems);
  return Object.fromEntries(entries.map(([key, item]) => [key, walk(item, change, key, name, depth + 1)]));
}
