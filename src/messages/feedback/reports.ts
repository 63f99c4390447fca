import { parseEmail } from '../../accounts/users.ts';
import { readReply } from '../replies.ts';

/**
 * Change of an address's status reported by a provider: a reason to suppress the address, or the end of a suppression.
 * `reactivated` ends bounces and the provider's own suppressions. `resubscribed` ends an unsubscription.
 */
export type AddressChange = 'bounced' | 'complained' | 'unsubscribed' | 'added' | 'reactivated' | 'resubscribed';

export type AddressReport = {
  email: string;
  change: AddressChange;
  /** ID of the perk message that the report is about, or null if unknown. */
  messageId: string | null;
};

type Json = Readonly<Record<string, unknown>>;

const jsonOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.map(jsonOf) : []);
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

const messageIdPattern = /^<?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.confirm)?(?:@|$)/;

function report(email: unknown, change: AddressChange | undefined, messageId: unknown): AddressReport[] {
  const address = parseEmail(textOf(email));
  if (address === null || change === undefined) return [];
  return [{ email: address, change, messageId: messageIdPattern.exec(textOf(messageId))?.[1] ?? null }];
}

/**
 * Classifies a permanent failure. The mail server's reply takes precedence over the provider's classification.
 * `isInvalid` means that the provider reports a nonexistent address. It is believed unless the reply gives another
 * reason.
 */
function permanent(texts: readonly unknown[], isInvalid = false): 'bounced' | undefined {
  const text = texts.map(textOf).join(' ').trim();
  if (text === '') return 'bounced';
  const { refusal } = readReply({ text });
  return refusal === 'recipient' || (isInvalid && refusal === 'unclear') ? 'bounced' : undefined;
}

const sendGridDrops = new Map<string, AddressChange>([
  ['bounced address', 'bounced'],
  ['invalid', 'bounced'],
  ['spam reporting address', 'complained'],
  ['unsubscribed address', 'unsubscribed'],
]);

const sendGridEvents = new Map<string, AddressChange>([
  ['spamreport', 'complained'],
  ['unsubscribe', 'unsubscribed'],
  ['group_unsubscribe', 'unsubscribed'],
  ['group_resubscribe', 'resubscribed'],
]);

function sendGridChange({ event, type, status, reason, bounce_classification: classified }: Json) {
  const name = textOf(event);
  if (name === 'dropped') return sendGridDrops.get(textOf(reason).trim().toLowerCase());
  if (name !== 'bounce') return sendGridEvents.get(name);
  // Ignore `blocked` and `expired`: they mean that the sender was refused, or that no server responded in time.
  if (type !== undefined && type !== 'bounce') return undefined;
  return permanent([reason, status], textOf(classified).toLowerCase() === 'invalid address');
}

/** Reads a list of SendGrid events (https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event). */
export const readSendGrid = (body: unknown): AddressReport[] =>
  listOf(body).flatMap((event) => report(event.email, sendGridChange(event), event['smtp-id']));

const mailgunReasons = new Map<string, AddressChange | undefined>([
  ['suppress-bounce', 'bounced'],
  ['suppress-complaint', 'complained'],
  ['suppress-unsubscribe', 'unsubscribed'],
  ['espblock', undefined],
  ['old', undefined],
  ['greylisted', undefined],
]);
/** Mailgun codes for addresses that are on Mailgun's own suppression list. */
const mailgunCodes = new Map<string, AddressChange>([
  ['605', 'bounced'],
  ['606', 'unsubscribed'],
  ['607', 'complained'],
]);

function mailgunChange({ event, severity, reason, 'delivery-status': status }: Json): AddressChange | undefined {
  if (event === 'complained' || event === 'unsubscribed') return event;
  if (event !== 'failed' || severity !== 'permanent') return undefined;
  if (mailgunReasons.has(textOf(reason))) return mailgunReasons.get(textOf(reason));
  const { code, message, description, 'enhanced-code': enhanced } = jsonOf(status);
  const own = mailgunCodes.get(textOf(code));
  return own ?? permanent([code, enhanced, message, description]);
}

/** Reads a Mailgun event (https://documentation.mailgun.com/docs/mailgun/user-manual/events/webhooks). */
export function readMailgun(body: unknown): AddressReport[] {
  const data = jsonOf(jsonOf(body)['event-data']);
  const headers = jsonOf(jsonOf(data.message).headers);
  return report(data.recipient, mailgunChange(data), headers['message-id']);
}

const postmarkBounces = new Map<string, AddressChange>([
  ['HardBounce', 'bounced'],
  ['BadEmailAddress', 'bounced'],
  ['ManuallyDeactivated', 'added'],
  ['SpamComplaint', 'complained'],
  ['Unsubscribe', 'unsubscribed'],
  ['Subscribe', 'resubscribed'],
]);
const postmarkSuppressions = new Map<string, AddressChange>([
  ['HardBounce', 'bounced'],
  ['SpamComplaint', 'complained'],
]);

/** Postmark metadata key for the perk message ID, which is set with the header `X-PM-Metadata-…`. */
export const postmarkMetadata = 'perkwire-message';

function postmarkChange(body: Json): AddressChange | undefined {
  const { RecordType, Type, Details, SuppressSending, SuppressionReason, Origin } = body;
  if (RecordType === 'SpamComplaint') return 'complained';
  if (RecordType === 'Bounce') {
    const change = postmarkBounces.get(textOf(Type));
    return change === 'bounced' ? permanent([Details], true) : change;
  }
  if (RecordType !== 'SubscriptionChange') return undefined;
  if (SuppressSending === false) return 'reactivated';
  if (SuppressSending !== true) return undefined;
  return postmarkSuppressions.get(textOf(SuppressionReason)) ?? (Origin === 'Recipient' ? 'unsubscribed' : 'added');
}

/** Reads a Postmark event (https://postmarkapp.com/developer/webhooks/webhooks-overview). */
export function readPostmark(body: unknown): AddressReport[] {
  const event = jsonOf(body);
  const address = event.RecordType === 'SubscriptionChange' ? event.Recipient : event.Email;
  return report(address, postmarkChange(event), jsonOf(event.Metadata)[postmarkMetadata]);
}

/** Bounce subtypes for addresses to which SES did not send because of an earlier bounce. */
const sesListed = ['Suppressed', 'OnAccountSuppressionList'];
/** Feedback types other than a reader's complaint about unwanted mail. */
const sesNoComplaints = ['not-spam', 'auth-failure', 'virus'];

/** Reads the message in an SES notification (https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html). */
export function readSes(message: unknown): AddressReport[] {
  const { notificationType, eventType, bounce, complaint, subscription, mail } = jsonOf(message);
  const messageId = sesMessageId(jsonOf(mail));
  switch (textOf(notificationType ?? eventType)) {
    case 'Bounce':
      return sesBounce(jsonOf(bounce), messageId);
    case 'Complaint': {
      const { complainedRecipients, complaintFeedbackType: type } = jsonOf(complaint);
      if (sesNoComplaints.includes(textOf(type))) return [];
      return listOf(complainedRecipients).flatMap((recipient) =>
        report(recipient.emailAddress, 'complained', messageId),
      );
    }
    case 'Subscription': {
      const { destination } = jsonOf(mail);
      const change = sesSubscription(jsonOf(jsonOf(subscription).newTopicPreferences));
      return (Array.isArray(destination) ? destination : []).flatMap((email) => report(email, change, messageId));
    }
    default:
      return [];
  }
}

function sesBounce({ bounceType, bounceSubType, bouncedRecipients }: Json, messageId: unknown): AddressReport[] {
  if (bounceType !== 'Permanent') return [];
  const subType = textOf(bounceSubType);
  return listOf(bouncedRecipients).flatMap(({ emailAddress, diagnosticCode, status }) => {
    if (subType === 'UnsubscribedRecipient') return report(emailAddress, 'unsubscribed', messageId);
    const change = sesListed.includes(subType) ? 'bounced' : permanent([diagnosticCode, status], subType === 'NoEmail');
    return report(emailAddress, change, messageId);
  });
}

function sesSubscription({ unsubscribeAll, topicSubscriptionStatus, topicPreferences }: Json) {
  const topics = listOf(topicSubscriptionStatus ?? topicPreferences);
  const states = topics.map((topic) => textOf(topic.subscriptionStatus).toLowerCase().replace('_', ''));
  if (unsubscribeAll === true || states.includes('optout')) return 'unsubscribed';
  return unsubscribeAll === false || states.includes('optin') ? 'resubscribed' : undefined;
}

/** Returns the `Message-ID` header as it was sent. `mail.messageId` is a different ID, which SES assigns. */
function sesMessageId({ commonHeaders, headers }: Json): unknown {
  const header = listOf(headers).find(({ name }) => textOf(name).toLowerCase() === 'message-id');
  return jsonOf(commonHeaders).messageId ?? header?.value;
}
