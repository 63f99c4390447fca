import { type Static, Type } from '@sinclair/typebox';
import { parseEmail } from '../accounts/users.ts';
import { audit } from '../management/audit.ts';
import { text } from '../management/fields.ts';
import { orNull } from '../management/resource.ts';
import { checkValue } from '../management/schema-errors.ts';
import type { Work } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';

/** Schema of a publisher's message settings. */
export const settingsInput = Type.Object(
  {
    enabled: Type.Boolean({ description: 'Whether users can ask for their confirmed perks by e-mail.' }),
    from_name: text(100, { description: 'Sender name. Empty for the name of the publisher.' }),
    reply_to: orNull(Type.String({ maxLength: 254, description: 'Reply-to address. `null` for the sender address.' })),
    delivery: Type.Union([Type.Literal('smtp'), Type.Literal('webhook')], {
      description:
        'How messages are sent: by the mail server of this service, or by your own mailer with the webhook event ' +
        '`perk_message`.',
    }),
    double_opt_in: Type.Boolean({
      description: 'Whether a new address must be confirmed once before it gets messages.',
    }),
    reminder_hours: orNull(
      Type.Integer({
        minimum: 1,
        maximum: 720,
        description:
          'Hours before the end of a saved offer at which the user gets a reminder. `null` for no reminders.',
      }),
    ),
  },
  { title: 'PerkMessageSettings', additionalProperties: false },
);

type Settings = Static<typeof settingsInput>;
export type Delivery = Settings['delivery'];

const noSettings: Settings = {
  enabled: false,
  from_name: '',
  reply_to: null,
  delivery: 'smtp',
  double_opt_in: false,
  reminder_hours: null,
};

const names = Object.keys(noSettings);

export async function getSettings({ executor, publisherId }: { executor: Executor; publisherId: number }) {
  const { rows } = await executor.query<Settings>(
    `select ${names.join(', ')} from perk_message_settings where publisher_id = $1`,
    [publisherId],
  );
  return rows[0] ?? noSettings;
}

/**
 * Whether user addresses may be stored: either the publisher sends messages now, or some messages from earlier may
 * still be pending.
 */
export async function mayKeepAddresses(executor: Executor, publisherId: number): Promise<boolean> {
  const { rowCount } = await executor.query('select from perk_message_settings where publisher_id = $1', [publisherId]);
  return rowCount === 1;
}

/**
 * Updates the message settings.
 * @throws AppError invalid_request
 */
export async function setSettings(work: Work, input: unknown): Promise<Settings> {
  const details = checkValue(Type.Partial(settingsInput, { additionalProperties: false }), input ?? {});
  const before = await getSettings(work);
  const after: Settings = { ...before, ...(input as Partial<Settings>) };
  if (details.length === 0 && after.reply_to !== null && parseEmail(after.reply_to) === null)
    details.push({ path: '/reply_to', message: problem('oneAddress') });
  if (details.length === 0 && /\p{Cc}/u.test(after.from_name))
    details.push({ path: '/from_name', message: problem('oneLine') });
  if (details.length > 0) throw new AppError('invalid_request', { details });
  const { executor, publisherId, nowMs } = work;
  await executor.query(
    `insert into perk_message_settings (publisher_id, updated_at, ${names.join(', ')})
    values ($1, $2, ${names.map((_, index) => `$${index + 3}`).join(', ')})
    on conflict (publisher_id) do update
    set ${['updated_at', ...names].map((name) => `${name} = excluded.${name}`).join(', ')}`,
    [publisherId, new Date(nowMs), ...names.map((name) => after[name as keyof Settings])],
  );
  const resource = { name: 'perk-messages', key: 'id' } as const;
  const viewOf = (settings: Settings) => ({ id: publisherId, ...settings });
  await audit(work, { resource, action: 'update', before: viewOf(before), after: viewOf(after) });
  return after;
}
