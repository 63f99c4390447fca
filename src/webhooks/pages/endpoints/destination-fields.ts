import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { card, copyable, notice } from '../../../shell/components.ts';
import type { Fields, FormValues } from '../../../shell/context.ts';
import { columns, type FormBuilder } from '../../../shell/forms.ts';
import { type DestinationKind, destinationKinds, kindOf } from '../../destinations/kinds.ts';
import {
  choices,
  type DestinationInput,
  destinationView,
  isRequired,
  secretsOfKind,
  settingsOf,
  settingsOfKind,
} from '../../destinations/settings.ts';
import type { Endpoint, listEndpoints } from '../../endpoint-store.ts';

/** Endpoint with its health. */
export type FoundEndpoint = Awaited<ReturnType<typeof listEndpoints>>[number];

/** Name of the field that contains the kind of the destination. */
const kindField = 'destination';

const placeholders: Readonly<Record<string, string>> = {
  address: 'nats.example.com:4222',
  subject: 'perks.events',
  brokers: 'kafka-1.example.com:9092, kafka-2.example.com:9092',
  topic: 'perks-events',
  client_id: 'perkwire',
  queue_url: 'https://sqs.eu-central-1.amazonaws.com/123456789012/orders',
  region: 'eu-central-1',
  bus: 'default',
  bucket: 'my-bucket',
  prefix: 'perks/events',
  service_url: 'https://',
};

const fieldOf = (kind: DestinationKind, name: string): string => `${kind}.${name}`;

/** Returns the name of a kind of destination as shown in the dashboard. */
const kindName = (kind: DestinationKind | 'http'): string => t('destinations.kind', { kind });

function labelOf(kind: DestinationKind, name: string): string {
  const setting = t('destinations.name', { name });
  return isRequired(kind, name) ? setting : t('destinations.optional', { setting });
}

const hints: Readonly<Record<string, MessageKey>> = {
  service_url: 'destinations.serviceHint',
  brokers: 'destinations.brokersHint',
  message_key: 'destinations.messageKeyHint',
};

function settingField(form: FormBuilder, kind: DestinationKind, name: string): Html {
  const hint = hints[name];
  const options = { ...(hint !== undefined && { hint: t(hint) }) };
  if (name === 'mechanism' || name === 'message_key')
    return form.select(fieldOf(kind, name), {
      ...options,
      label: t('destinations.name', { name }),
      choices: choices[name].map((value) => ({ value, text: t('destinations.choice', { value }) })),
    });
  return form.input(fieldOf(kind, name), {
    ...options,
    label: labelOf(kind, name),
    ...(placeholders[name] !== undefined && { placeholder: placeholders[name] }),
    autocomplete: 'off',
    code: true,
  });
}

type FieldRow = 'first' | 'settings' | 'login';

/** Returns the row of a field. Kafka has a long list of servers, and one more login field than other destinations. */
function rowOf(kind: DestinationKind, name: string): FieldRow {
  if (name === 'brokers') return 'first';
  return kind === 'kafka' && (name === 'user' || name === 'mechanism') ? 'login' : 'settings';
}

/** Renders the fields of a destination of one kind. `stored` is the endpoint, or null if it is new. */
function settingFields(form: FormBuilder, kind: DestinationKind, stored: Endpoint | null): Html {
  const fieldsIn = (row: FieldRow): Html[] =>
    settingsOfKind(kind)
      .filter((name) => name !== 'tls' && rowOf(kind, name) === row)
      .map((name) => settingField(form, kind, name));
  const set = stored === null ? {} : destinationView(stored);
  const secrets = secretsOfKind(kind).map((name) => {
    const label = t('destinations.name', { name });
    const hint = name in set ? t('destinations.secretStays') : t('destinations.secretHint');
    const options = { label, hint, secret: true, autocomplete: 'off' };
    return name === 'credentials'
      ? form.textarea(fieldOf(kind, name), { ...options, rows: 3, code: true })
      : form.input(fieldOf(kind, name), { ...options, type: 'password', autocomplete: 'new-password' });
  });
  return html`
    ${fieldsIn('first')}
    ${columns(fieldsIn('settings'))}
    ${settingsOfKind(kind).includes('tls') && form.checkbox(fieldOf(kind, 'tls'), { label: t('destinations.tls') })}
    ${columns([...fieldsIn('login'), ...secrets])}`;
}

/** Renders the destination choice for a new endpoint. `http` contains the fields of an HTTP endpoint. */
export const destinationChoice = (form: FormBuilder, http: Html): Html =>
  form.choices(kindField, {
    label: t('destinations.label'),
    choices: (['http', ...destinationKinds] as const).map((kind) => ({
      value: kind,
      text: kindName(kind),
      hint: t('destinations.hint', { kind }),
      ...(kind !== 'pull' && { fields: kind === 'http' ? http : settingFields(form, kind, null) }),
    })),
  });

/** Renders the fields of a stored destination, whose kind cannot be changed. */
export const storedDestination = (form: FormBuilder, kind: DestinationKind, stored: Endpoint): Html => html`
  <input type="hidden" name="${kindField}" value="${kind}">
  <fieldset class="field">
    <legend>${kindName(kind)}</legend>
    <p class="hint">${t('destinations.hint', { kind })}</p>
    ${kind !== 'pull' && html`<div class="choice-fields">${settingFields(form, kind, stored)}</div>`}
  </fieldset>`;

/** Returns the kind of destination in a submitted form. */
export const chosenKind = (fields: Fields): DestinationKind | 'http' => kindOf(`${fields.text(kindField)}:`);

/** Returns the form values of an endpoint's destination. Secrets are not included. */
export function destinationToForm(endpoint: Endpoint | undefined): FormValues {
  if (endpoint === undefined)
    return { [kindField]: 'http', [fieldOf('nats', 'tls')]: true, [fieldOf('kafka', 'tls')]: true };
  const kind = kindOf(endpoint.url);
  if (kind === 'http') return {};
  return Object.fromEntries(
    Object.entries(settingsOf(endpoint.url))
      .filter(([name, value]) => name !== 'service_url' || !isAwsService(String(value)))
      .map(([name, value]) => [fieldOf(kind, name), value]),
  );
}

/** Whether a service URL is that of AWS itself. The field is then empty, so that a new region gets its own URL. */
const isAwsService = (url: string): boolean => /^https:\/\/(s3|events)\.[a-z0-9-]+\.amazonaws\.com$/.test(url);

/** Returns the submitted form values of all destinations, without secrets. */
export const typedDestination = (fields: Fields): FormValues => ({
  [kindField]: fields.text(kindField),
  ...Object.fromEntries(
    destinationKinds.flatMap((kind) =>
      settingsOfKind(kind).map((name) => {
        const field = fieldOf(kind, name);
        return [field, name === 'tls' ? fields.checked(field) : fields.text(field)];
      }),
    ),
  ),
});

/** Returns a destination in a submitted form, in the format of the API. */
export function destinationInput(fields: Fields, kind: DestinationKind): DestinationInput {
  const input: DestinationInput = { kind };
  for (const name of settingsOfKind(kind)) {
    const field = fieldOf(kind, name);
    if (name === 'tls') input.tls = fields.checked(field);
    else if (fields.text(field).trim() !== '') input[name] = fields.text(field);
  }
  for (const name of secretsOfKind(kind)) {
    const value = fields.text(fieldOf(kind, name)).replaceAll('\r\n', '\n').trim();
    if (value !== '') input[name] = value;
  }
  return input;
}

/** Renders the destination of an endpoint. */
export function destinationText({ url }: Endpoint): Html {
  const kind = kindOf(url);
  if (kind === 'http') return html`<code>${url}</code>`;
  const [, address = ''] = /^\w+:\/\/([^?]*)/.exec(url) ?? [];
  return html`${kindName(kind)}${kind !== 'pull' && html`<br><code>${decodeURIComponent(address)}</code>`}`;
}

/** Renders instructions for pulling events, or nothing if the endpoint is not a pull endpoint. */
export function pullCard({ endpoint, health }: FoundEndpoint, publicUrl: string): Html {
  if (kindOf(endpoint.url) !== 'pull') return nothing;
  const { id } = endpoint;
  const api = `curl -H "Authorization: Bearer $PERKWIRE_KEY" \\
  "${publicUrl}/manage/v1/events?endpoint=${id}&wait=20"`;
  return card(
    t('destinations.pullTitle'),
    html`
      ${health.failing && notice('failed', html`<p>${t('destinations.stalled')}</p>`)}
      <h3>${t('destinations.commandLine')}</h3>
      ${copyable(`perkwire events pull --endpoint ${id} --follow`, t('destinations.commandLine'))}
      <div class="below"><h3>${t('destinations.api')}</h3>${copyable(api, t('destinations.api'))}</div>`,
    { lead: t('destinations.pullLead') },
  );
}
