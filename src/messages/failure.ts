import { type Problem, problem } from '../platform/problem.ts';
import { readReply } from './replies.ts';
import { type Refusal, refusals } from './reply-patterns.ts';

/** Reasons for a failed delivery: the refusals by a mail server, and `unreachable`. */
export const failedBecause = [...refusals, 'unreachable'] as const;
export type FailedBecause = (typeof failedBecause)[number];

export type Failure = {
  /** Error text for the message log. It does not include the server's reply text, which may contain the address. */
  error: Problem;
  /** Reason for the failure, or null if no mail server was involved. */
  refusal: FailedBecause | null;
  /** Reply code and enhanced status code, such as `550 5.7.1`, or null if there was no reply. */
  reply: string | null;
  /** Whether scheduled retries would be pointless. */
  isFinal: boolean;
};

type SmtpError = { responseCode?: number; response?: string; command?: string; code?: string };

/** nodemailer error codes that mean that the server can't be reached. */
const unreachableCodes = ['ECONNECTION', 'ESOCKET', 'EDNS', 'ETIMEDOUT', 'EAUTH'];

/** SMTP commands to which the reply may concern the recipient. Each message has only one recipient. */
const recipientCommands = ['RCPT TO', 'DATA'];

/** Converts a mailer error to a failure. `addresses` are the sender and recipient of the e-mail. */
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

/** Attributes a refusal to the sender if it is the reply to an SMTP command that does not concern the recipient. */
function whoseReply(refusal: Refusal, { command, isPermanent }: { command: string; isPermanent: boolean }): Refusal {
  if (command.startsWith('AUTH') || command.endsWith('HLO') || command === 'STARTTLS') return 'sender';
  if (recipientCommands.includes(command)) return refusal;
  if (refusal === 'recipient') return 'sender';
  return command === 'MAIL FROM' && isPermanent && refusal === 'unclear' ? 'sender' : refusal;
}

/** Whether an e-mail was refused as a whole for a reason that cannot be fixed at the relay. */
const isFinalReply = (refusal: Refusal, code: string): boolean => code === 'EMESSAGE' && refusal === 'unclear';

/** Whether the mail server could not be reached. Other messages must then wait as well. */
export const isUnreachable = (err: unknown): boolean => {
  const { responseCode = 0, code = '' } = (err ?? {}) as SmtpError;
  return unreachableCodes.includes(code) && responseCode < 400;
};
