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
  /** Reply text, including its code, such as `550 5.1.1 User unknown`. It may span several lines. */
  text: string;
  /** Sender and recipient addresses, which are removed from the text before it is classified. */
  sender?: string | undefined;
  recipient?: string | undefined;
};

export type ReplyReading = {
  refusal: Refusal;
  /** Reply code, or 0 if none exists. */
  code: number;
  /** Enhanced status code (RFC 3463) such as `5.1.1`, or null if none exists. */
  status: string | null;
};

/** Maximum length of the part of a reply that is evaluated, in characters. */
const maxLength = 2000;

const enhancedStatus = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/g;

/**
 * Classifies a mail server's reply. Only the result `recipient` suppresses a reader. It therefore requires a permanent
 * reply code, text or an enhanced status about the mailbox, and no text that gives another reason.
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

/**
 * Returns the text in lower case without codes and links. The sender's address is replaced with "sender", any other
 * address with "someone".
 */
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

/** Whether a status code contradicts reply text that says that the mailbox does not exist. */
const isOtherMatter = (status: string): boolean => {
  const refusal = refusalOfStatus(status);
  return status.startsWith('4') || (refusal !== undefined && refusal !== 'recipient' && refusal !== 'domain');
};
