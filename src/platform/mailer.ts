import { createTransport } from 'nodemailer';
import type { MailSetting } from '../config/outgoing.ts';

/** A mail in plain text, and also in HTML where that is given. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  html?: string;
  attachments?: readonly { filename: string; content: string; contentType: string }[];
};

export type Mailer = {
  /** Resolves when the server took the mail. @throws Error when it did not */
  send: (mail: Mail) => Promise<void>;
  /** Waits for mails in flight. */
  close: () => Promise<void>;
};

/** Of connecting, greeting and every silence (milliseconds). */
const timeoutMs = 10_000;

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.');

/** Sends over SMTP; with credentials only over TLS, except to this machine. */
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
    send: async ({ to, subject, text, html, attachments = [] }) => {
      const headers = { 'auto-submitted': 'auto-generated' };
      // An address as an object is never parsed as a list of several.
      const mail = { from, to: { name: '', address: to }, subject, text, headers, html, attachments: [...attachments] };
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
