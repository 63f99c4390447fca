import {
  accountState,
  blames,
  doubts,
  missingMailbox,
  ownAccount,
  type Refusal,
  recipientWords,
  refusalOfStatus,
} from './reply-patterns.ts';

type Reply = {
  /** Reply text with its code, such as `550 5.1.1 User unknown`; it may contain several lines. */
  text: string;
  /** Addresses of the mail, which are ignored in the text. */
  sender?: string | undefined;
  recipient?: string | undefined;
};

export type ReplyReading = {
  refusal: Refusal;
  /** Reply code, or 0 without one. */
  code: number;
  /** Enhanced status code (RFC 3463) such as `5.1.1`, or null without one. */
  status: string | null;
};

/** Maximum length of a reply that is read, in characters. */
const maxLength = 2000;

const enhancedStatus = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/g;

/**
 * Classifies a reply of a mail server. A reader is suppressed only for `recipient`. So this is the result only if the
 * code is permanent, the text or the enhanced status is about the mailbox, and no part of the text blames anything
 * else.
 */
export function readReply({ text, sender, recipient }: Reply): ReplyReading {
  const raw = text.slice(0, maxLength);
  const code = Number(/(?:^|[^\d.])([245]\d\d)(?=[\s-]|$)/.exec(raw)?.[1] ?? 0);
  const statuses = raw.match(enhancedStatus) ?? [];
  const status = statuses[0] ?? null;
  const words = wordsOf(raw, sender, recipient);
  const isPermanent = (code === 0 || code >= 500) && status?.startsWith('4') !== true;
  const rest = words.replaceAll(missingMailbox, ' ');
  const blamed = ownAccount.test(words) ? 'sender' : blames.find(({ pattern }) => pattern.test(rest))?.refusal;
  const byStatus = status === null ? undefined : refusalOfStatus(status);
  const reading = (refusal: Refusal): ReplyReading => ({ refusal, code, status });
  if (blamed !== undefined) return reading(blamed);
  const mayBeRecipient = isPermanent && (code > 0 || status !== null);
  const isAboutMailbox = byStatus === 'recipient' || !accountState.test(words) || recipientWords.test(words);
  if (rest !== words && isAboutMailbox && mayBeRecipient && !statuses.some(isOtherMatter)) return reading('recipient');
  if (byStatus !== 'recipient') return reading(byStatus ?? 'unclear');
  const agrees = statuses.every((status) => refusalOfStatus(status) === 'recipient');
  return reading(mayBeRecipient && agrees && !doubts.test(rest) ? 'recipient' : 'unclear');
}

/** Text in lower case without codes, links and addresses. The sender's address becomes the word "sender". */
function wordsOf(raw: string, sender: string | undefined, recipient: string | undefined): string {
  let words = raw.normalize('NFKC').toLowerCase().replaceAll('’', "'");
  if (recipient !== undefined && recipient !== '') words = words.replaceAll(recipient.toLowerCase(), ' someone ');
  if (sender !== undefined && sender !== '') words = words.replaceAll(sender.toLowerCase(), ' sender ');
  return words
    .replaceAll(/\(in reply to [\w ]{1,40}\)/g, ' ')
    .replaceAll(/https?:\/\/\S{0,300}/g, (url) =>
      /spam|block|rbl|\bbl\b|barracuda|reputation/.test(url) ? ' blocklist ' : ' ',
    )
    .replaceAll(/[<[("']?[^\s<>[\]()"'@:;,]{1,64}@[^\s<>[\]()"':;,]{1,255}/g, ' someone ')
    .replaceAll(enhancedStatus, ' ')
    .replaceAll(/\b[245]\d\d(?=[\s-])/g, ' ')
    .replaceAll(/[\s<>[\]()"“”|*#]+/g, ' ')
    .replaceAll(/ ([.,:;])/g, '$1')
    .trim();
}

/** Whether a status contradicts a text about a missing mailbox. */
const isOtherMatter = (status: string): boolean => {
  const refusal = refusalOfStatus(status);
  return status.startsWith('4') || (refusal !== undefined && refusal !== 'recipient' && refusal !== 'domain');
};
