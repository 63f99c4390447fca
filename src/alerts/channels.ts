import type pg from 'pg';
import type { Config } from '../config.ts';
import { AppError } from '../platform/errors.ts';
import { t } from '../platform/i18n/messages.ts';
import { inLanguage } from '../platform/i18n/reader.ts';
import { Problem } from '../platform/problem.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { publisherPath } from '../shell/context.ts';
import type { Sender } from '../webhooks/sender.ts';
import { takeTestToken } from '../webhooks/test-limit.ts';
import { requireUsableUrl, urlRulesOf } from '../webhooks/url-rules.ts';
import type { AlertKind } from './kinds.ts';
import { addChannel, findChannelUrl, urlContext } from './rules.ts';
import { post, slackText } from './send.ts';

export type ChannelDeps = {
  pool: pg.Pool;
  config: Config;
  secretBox: SecretBox;
  sender: Sender;
  now: () => number;
};

type OfPublisher = { id: number; name: string };

/** Maximum length of a channel name, in characters. */
export const maxNameLength = 80;

/**
 * Adds a channel after sending a test message to it.
 * @returns the ID of the channel
 * @throws AppError invalid_request if a value is invalid, the channel does not accept the message, or the publisher
 * already has the maximum number of channels; too_many_requests
 */
export async function addTestedChannel(
  { pool, config, secretBox, sender, now }: ChannelDeps,
  publisher: OfPublisher,
  { name, url, kinds }: { name: string; url: string; kinds: readonly AlertKind[] },
): Promise<number> {
  if (name === '' || name.length > maxNameLength) throw refused('/name', new Problem('alerts.mustHaveLength'));
  requireUsableUrl(url, urlRulesOf(config));
  await takeTestToken(pool, publisher.id, now());
  const error = await post(sender, url, testText(publisher, config.publicUrl, 'hello'));
  if (error !== null) throw refused('/url', new Problem('alerts.tookNoMessage', { error }));
  const channel = { publisherId: publisher.id, name, kinds, urlSealed: secretBox.seal(url, urlContext) };
  const id = await addChannel(pool, channel, now());
  if (id === null) throw refused('/name', new Problem('alerts.oneTooMany'));
  return id;
}

const refused = (path: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path, message }] });

/**
 * Sends a test message to a channel.
 * @returns the reason for a failure, or null on success
 * @throws AppError not_found if the publisher has no such channel; too_many_requests
 */
export async function sendTestMessage(
  { pool, config, secretBox, sender, now }: ChannelDeps,
  publisher: OfPublisher,
  channelId: number,
): Promise<Problem | null> {
  const sealed = await findChannelUrl(pool, publisher.id, channelId);
  if (sealed === null) throw new AppError('not_found');
  await takeTestToken(pool, publisher.id, now());
  const text = testText(publisher, config.publicUrl, 'test');
  return post(sender, secretBox.open(sealed, urlContext), text);
}

/**
 * Returns the text of a test message. It uses the language of the channel's other messages, which may differ from the
 * language of the user who sends it.
 */
function testText({ id, name }: OfPublisher, publicUrl: string, kind: 'hello' | 'test'): string {
  const inbox = `${publicUrl}${publisherPath(id, '/alerts')}`;
  return inLanguage(null, () => {
    const alert =
      kind === 'hello'
        ? { title: t('alerts.hello'), reason: t('alerts.helloReason') }
        : { title: t('alerts.testTitle'), reason: t('alerts.testReason') };
    return slackText(name, alert, { page: inbox, inbox });
  });
}
