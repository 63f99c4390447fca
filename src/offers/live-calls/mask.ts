/*
 * What a recorded call may show (docs/reference/debugging.md#live-calls): neither secrets nor what identifies a user.
 * Attributes of the publisher are shown, as reports show them, unless their name or value looks like either.
 */

const hidden = '•••';

/** Names of fields that hold a secret or identify a user. */
const hiddenNames = [
  'key$|^(ad_fp|adpx_fp|fingerprint|ip|c_id|click_id)$|user(?!_agent)|name$|birth',
  'mail|phone|mobile|address|street|zip|postal|token|secret|passw|auth|cookie|iban|card',
  'coupon|^(codes|shared)$|fallback_code',
];
const hiddenName = new RegExp(hiddenNames.join('|'), 'i');
/** In answers, which name campaigns and advertisers too. */
const hiddenInAnswer = /pub_user|ad_fp|mail|phone|first_name|last_name|token|secret|coupon|^codes$/i;

/** Read of a text (characters): more is not shown of it, and the pattern takes a time that grows with its square. */
const maxRead = 256;
const personalText = /[^\s@]+@[^\s@]+\.[^\s@]+|^\+?[\d\s()-]{9,}$|^\d{1,3}(\.\d{1,3}){3}$|^[\w+/.-]{40,}$/;
const urlQuery = /(https?:\/\/[^\s"'<>?]+)\?[^\s"'<>]*/g;

/** Longest text (characters), list (items) and nesting that is shown. */
const maxText = 200;
const maxItems = 50;
const maxDepth = 8;
/** Texts looked for in an answer (count). Of a request that hides more, the answer is hidden as a whole. */
const maxHiddenTexts = 200;

export type Masked = { shown: unknown; hiddenTexts: ReadonlySet<string> };

/** The fields of a request, and the texts of those that were hidden. */
export function maskRequest(fields: unknown): Masked {
  const hiddenTexts = new Set<string>();
  const shown = walk(fields, (name, value, holder) => {
    const isHidden = hiddenName.test(name) && !(name === 'name' && holder === 'placements');
    if (!isHidden && !(typeof value === 'string' && personalText.test(value.slice(0, maxRead)))) return value;
    if (value === null || value === '') return value;
    for (const text of textsIn(value)) if (text.length > 1) hiddenTexts.add(text);
    return hidden;
  });
  return { shown, hiddenTexts };
}

/** The fields of an answer, without what its request had hidden, such as a first name in the copy. */
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

const textsIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((one) => (typeof one === 'object' ? [] : [String(one)]))
    : [String(value)];

/** `holder`: the name of the field that a field is in. */
type Mask = (name: string, value: unknown, holder: string) => unknown;

/** Copies a value, with `change` applied to each field and list item, and long texts cut. */
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
