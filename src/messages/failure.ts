import { type Problem, problem } from '../platform/problem.ts';
import { readReply } from './replies.ts';
import { type Refusal, refusals } from './reply-patterns.ts';

/** Refusals of a mail server, and `unreachable`. */
export const failedBecause = [...refusals, 'unreachable'] as const;
export type FailedBecause = (typeof failedBecause)[number];

export type Failure = {
  /** Text for the log of messages, without the server's own text, which may contain the address. */
  error: Problem;
  /** null if no mail server was involved. */
  refusal: FailedBecause | null;
  /** Reply code and enhanced status code, such as `550 5.7.1`, or null without a reply. */
  reply: string | null;
  /** Whether another attempt on the schedule is useless. */
  isFinal: boolean;
};

type SmtpError = { responseCode?: number; response?: string; command?: string; code?: string };

/** Error codes of nodemailer for a server that can't be reached. */
const unreachableCodes = ['ECONNECTION', 'ESOCKET', 'EDNS', 'ETIMEDOUT', 'EAUTH'];

/** Commands whose reply may be about the recipient; each message has only one. */
const recipientCommands = ['RCPT TO', 'DATA'];

/** Converts an error of the mailer. `addresses` are those of the mail. */
export function failureOf(err: unknown, addresses: { sender?: string; recipient?: string }): Failure {
  const { responseCode = 0, response = '', command = '', code = '' } = (err ?? {}) as SmtpError;
  if (responseCode === 0) {
    const isUnreachable = unreachableCodes.includes(code);
    return {
      error: problem('mailRefusedCode', { code: code || 'error' }),
      refusal: isUnreachable ? 'unreachable' : 'unclear',
      reply: null,
      isFinal: false,
    };
  }
  const { refusal, status } = readReply({ text: response || String(responseCode), ...addresses });
  const isPermanent = responseCode >= 500;
  const because = whoseReply(refusal, { command, isPermanent });
  return {
    error: problem('mailAnswered', { code: responseCode }),
    refusal: because,
    reply: status === null ? String(responseCode) : `${responseCode} ${status}`,
    isFinal: isPermanent && (because === 'recipient' || because === 'content' || isFinalReply(because, code)),
  };
}

/** Attributes a refusal to the sender if the reply is to a command that is not about the recipient. */
function whoseReply(refusal: Refusal, { command, isPermanent }: { command: string; isPermanent: boolean }): Refusal {
  if (command.startsWith('AUTH') || command.endsWith('HLO') || command === 'STARTTLS') return 'sender';
  if (recipientCommands.includes(command)) return refusal;
  if (refusal === 'recipient') return 'sender';
  return command === 'MAIL FROM' && isPermanent && refusal === 'unclear' ? 'sender' : refusal;
}

/** Whether a mail was refused as a whole, for a reason that can't be fixed at the relay. */
const isFinalReply = (refusal: Refusal, code: string): boolean => code === 'EMESSAGE' && refusal === 'unclear';

/** Whether the server could not be reached, so that other messages wait as well. */
export const isUnreachable = (err: unknown): boolean => {
  const { responseCode = 0, code = '' } = (err ?? {}) as SmtpError;
  return unreachableCodes.includes(code) && responseCode < 400;
};
