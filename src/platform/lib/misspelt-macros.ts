import { type Problem, problem } from '../problem.ts';
import { editDistance } from './edit-distance.ts';
import { parseUrlTemplate } from './url-template.ts';

/** Warning about a macro in a URL, in the format of the API. */
type UrlWarning = { path: string; message: Problem };

export type MacroRules = {
  /** Names of the macros that are replaced in this URL. If the list is empty, no macros are replaced. */
  names: readonly string[];
  /**
   * Treatment of any other macro, such as `{other}`: replaced with an empty string, sent literally, or replaced with
   * the custom attribute of that name.
   */
  others: 'emptied' | 'sent' | 'custom';
};

/** Maximum number of warnings per URL. */
const maxWarnings = 5;

/** Pattern for the name inside a macro, including the fallback or filter that some systems allow. */
const inner = String.raw`\s*([A-Za-z_][\w .|:-]{0,63}?)\s*`;
/** Macro syntax of other systems that never occurs in URLs for any other purpose. */
const certain = [
  String.raw`\{\{${inner}\}\}`,
  String.raw`(?:[$%]|(?<==)[#@])\{${inner}\}`,
  `%%${inner}%%`,
  String.raw`\{${inner}\}`,
  String.raw`(?<=[=/])\[${inner}\](?=[&/#]|$)`,
];
/**
 * Macro syntax of other systems that also occurs in URLs without macros. It is reported only if the enclosed name
 * resembles one of our macros.
 */
const doubtful = [
  `<${inner}>`,
  `#${inner}#`,
  `@${inner}@`,
  `%${inner}%`,
  '__([A-Za-z][A-Za-z0-9_-]{0,62}?)__',
  String.raw`\$([A-Za-z][\w-]{0,63})`,
];
const spellings = new RegExp([...certain, ...doubtful].join('|'), 'g');

/** Our macros by the names that other systems use for the same value, without punctuation. */
const synonyms: Readonly<Record<string, string>> = {
  click_id: 'click cid clkid clid subid transactionid tid affclickid affsub sub1 externalid',
  txn_id: 'transactionid tid orderid order saleid',
  payout: 'amount revenue price value sum saleamount',
  currency: 'ccy currencycode',
  event: 'eventname eventtype goal goalname',
  pub_user_id: 'userid uid user customerid',
  coupon_code: 'code coupon voucher vouchercode promocode',
  placement: 'placementid zone zoneid source',
  publisher_id: 'publisher pub pubid affiliateid affid',
  session_id: 'session sid',
  campaign_id: 'campaign cmpid',
  offer_id: 'offer',
  cbuster: 'cachebuster cachebust cb random rnd ord timestamp correlator',
};

/**
 * Warns about macros in a URL that would be replaced with an empty string or sent literally. These are misspelt names
 * (`{clickid}`) and the syntax of other systems (`{{click_id}}`, `${click_id}`, `%%click_id%%`, `[CLICK_ID]`).
 * Percent-encoded braces are treated as literal text.
 */
export function warnOfMacros(path: string, url: unknown, rules: MacroRules): UrlWarning[] {
  const template = typeof url === 'string' ? parseUrlTemplate(url) : null;
  if (template === null) return [];
  const messages = new Map<string, Problem>();
  for (const match of `${template.path}${template.tail}`.matchAll(spellings)) {
    if (messages.size === maxWarnings) break;
    const message = problemOf(match, rules);
    if (message !== null) messages.set(match[0], message);
  }
  return [...messages.values()].map((message) => ({ path, message }));
}

function problemOf(match: RegExpMatchArray, { names, others }: MacroRules): Problem | null {
  const [text] = match;
  const at = match.slice(1).findIndex((group) => group !== undefined);
  const name = match[at + 1] ?? '';
  const isMacro = /^\{[\w.-]+\}$/.test(text);
  if (isMacro && names.includes(name)) return null;
  const nearest = nearestMacro(name, names);
  if (nearest === null && at >= certain.length) return null;
  if (names.length === 0) return problem('macroInPlainUrl', { macro: text });
  const suggestion = nearest ?? (others === 'custom' ? name : null);
  if (suggestion === null) return listMacros(text, names.map(asMacro).join(', '), { isMacro, others });
  const macro = asMacro(suggestion);
  if (macro === text) return null;
  if (!isMacro) return problem('macroSpelling', { macro: text, meant: macro });
  return others === 'sent'
    ? problem('macroSent', { macro: text, meant: macro })
    : problem('macroEmptied', { macro: text, meant: macro });
}

type Fault = { isMacro: boolean; others: MacroRules['others'] };

function listMacros(text: string, list: string, { isMacro, others }: Fault): Problem {
  if (!isMacro) return problem('macroSpellingList', { macro: text, names: list });
  return others === 'sent'
    ? problem('macroSentList', { macro: text, names: list })
    : problem('macroEmptiedList', { macro: text, names: list });
}

const asMacro = (name: string): string => `{${name}}`;

const bare = (name: string): string =>
  name
    .replace(/[|:].*$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');

/**
 * Returns the macro that a misspelt name most likely refers to: one with the same letters, a synonym, one with few
 * typing errors, or one that the name contains.
 */
function nearestMacro(name: string, names: readonly string[]): string | null {
  const typed = bare(name);
  const same = names.find((macro) => bare(macro) === typed);
  const synonym = names.find((macro) => (synonyms[macro] ?? '').split(' ').includes(typed));
  if (same !== undefined || synonym !== undefined) return same ?? synonym ?? null;
  const rated = names
    .map((macro) => ({ macro, distance: editDistance(typed, bare(macro)) }))
    .filter(({ macro, distance }) => distance <= (bare(macro).length < 7 ? 1 : 2))
    .sort((a, b) => a.distance - b.distance);
  return rated[0]?.macro ?? names.find((macro) => bare(macro).length >= 6 && typed.includes(bare(macro))) ?? null;
}
