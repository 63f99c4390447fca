import { createTransport } from 'nodemailer';
import type { MailSetting } from '../config/outgoing.ts';

/** E-mail with plain text and optional HTML. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** Sender name that replaces the default one. The sender address stays the same. */
  fromName?: string;
  replyTo?: string;
  /** Message-ID header. It must be the same for every retry, so that a retry is not shown as a second e-mail. */
  messageId?: string;
  headers?: Readonly<Record<string, string>>;
  attachments?: readonly { filename: string; content: string; contentType: string }[];
};

export type Mailer = {
  /**
   * Sends an e-mail and resolves when the server has accepted it.
   * @throws Error if the server did not accept it
   */
  send: (mail: Mail) => Promise<void>;
  /** Waits until e-mails that are being sent have been accepted or have failed. */
  close: () => Promise<void>;
};

/** Timeout for connecting, for the server greeting, and for inactivity, in milliseconds. */
const timeoutMs = 10_000;

/** Returns the e-mail address in a sender such as `Name <address>`. */
export const addressIn = (from: string): string => /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from;

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.');

/**
 * Creates a mailer that sends over SMTP. Credentials are sent only over TLS, unless the mail server runs on this
 * machine.
 */
export function createMailer({ host, port, secure, credentials, from }: MailSetting): Mailer {
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && credentials !== null && !isLoopback(host),
    ...(credentials !== null && { auth: { user: credentials.user, pass: credentials.password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const inFlight = new Set<Promise<void>>();
  return {
    send: async ({ to, fromName = '', replyTo, headers: more = {}, attachments = [], ...parts }) => {
      const headers = { 'auto-submitted': 'auto-generated', ...more };
      const sender = fromName === '' ? from : { name: fromName, address: addressIn(from) };
      // Pass the address as an object, because it is then never parsed as a list of addresses.
      const mail = {
        ...parts,
        headers,
        attachments: [...attachments],
        from: sender,
        to: { name: '', address: to },
        ...(replyTo === undefined ? {} : { replyTo: { name: '', address: replyTo } }),
      };
      const sending = transport.sendMail(mail).then(() => {});
      inFlight.add(sending);
      await sending.finally(() => inFlight.delete(sending));
    },
    close: async () => {
      await Promise.allSettled(inFlight);
      transport.close();
    },
  };
}
