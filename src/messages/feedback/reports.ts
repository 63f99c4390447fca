import { parseEmail } from '../../accounts/users.ts';
import type { SuppressionReason } from '../addresses.ts';

/** What a provider tells of an address. */
export type AddressReport = { email: string; reason: SuppressionReason };

type Json = Readonly<Record<string, unknown>>;

const jsonOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.map(jsonOf) : []);

const report = (email: unknown, reason: SuppressionReason | undefined): AddressReport[] => {
  const address = typeof email === 'string' ? parseEmail(email) : null;
  return address === null || reason === undefined ? [] : [{ email: address, reason }];
};

/*
 * Only what lasts: a mailbox that is full, a server that is busy and a mail that was blocked for its content say
 * nothing of the next mail.
 */

/** A list of events (https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event). */
export const readSendGrid = (body: unknown): AddressReport[] =>
  listOf(body).flatMap(({ email, event, type }) => {
    if (event === 'bounce') return report(email, type === 'blocked' ? undefined : 'bounced');
    return report(email, event === 'spamreport' ? 'complained' : event === 'unsubscribe' ? 'unsubscribed' : undefined);
  });

/** One event (https://documentation.mailgun.com/docs/mailgun/user-manual/events/webhooks). */
export function readMailgun(body: unknown): AddressReport[] {
  const { event, severity, recipient } = jsonOf(jsonOf(body)['event-data']);
  if (event === 'failed') return report(recipient, severity === 'permanent' ? 'bounced' : undefined);
  return report(recipient, event === 'complained' ? 'complained' : event === 'unsubscribed' ? event : undefined);
}

const postmarkBounces = ['HardBounce', 'BadEmailAddress', 'ManuallyDeactivated'];

/** One event (https://postmarkapp.com/developer/webhooks/webhooks-overview). */
export function readPostmark(body: unknown): AddressReport[] {
  const { RecordType, Type, Email, Recipient, SuppressSending, SuppressionReason: reason } = jsonOf(body);
  if (RecordType === 'SpamComplaint') return report(Email, 'complained');
  if (RecordType === 'Bounce')
    return report(
      Email,
      postmarkBounces.includes(String(Type)) ? 'bounced' : Type === 'SpamComplaint' ? 'complained' : undefined,
    );
  if (RecordType !== 'SubscriptionChange' || SuppressSending !== true) return [];
  const reasons: Record<string, SuppressionReason> = { HardBounce: 'bounced', SpamComplaint: 'complained' };
  return report(Recipient, reasons[String(reason)] ?? 'unsubscribed');
}

/** The message of a notification (https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html). */
export function readSes(message: unknown): AddressReport[] {
  const { notificationType, eventType, bounce, complaint } = jsonOf(message);
  const type = notificationType ?? eventType;
  const [{ bounceType, bouncedRecipients }, { complainedRecipients }] = [jsonOf(bounce), jsonOf(complaint)];
  if (type === 'Bounce' && bounceType === 'Permanent')
    return listOf(bouncedRecipients).flatMap(({ emailAddress }) => report(emailAddress, 'bounced'));
  if (type === 'Complaint')
    return listOf(complainedRecipients).flatMap(({ emailAddress }) => report(emailAddress, 'complained'));
  return [];
}
