import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, codeBlock, descriptionList, notice } from '../../../shell/components.ts';
import { milliseconds } from '../../../shell/format.ts';
import type { TestOutcome } from '../../endpoints/test-endpoint.ts';
import type { TimingView } from '../../endpoints/timing-view.ts';
import { classifiedError } from '../../last-failure.ts';

/** Renders the response to a test call: status, timing, headers and the first 4 KiB of the body. */
export function testResult({ delivered, status, error, timing, headers, body }: TestOutcome): Html {
  const summary = html`
    <p>
      <strong>${delivered ? t('webhooks.testDelivered') : t('webhooks.testFailed')}</strong>
      ${status !== null && badge(String(status), delivered ? 'good' : 'bad')}
      ${error !== null && classifiedError(error, status)}
    </p>`;
  return html`
    ${notice(delivered ? 'done' : 'failed', summary)}
    ${timing !== null && timingList(timing)}
    ${headers !== null && block(t('webhooks.headers'), t('webhooks.responseHeaders'), headersText(headers))}
    ${body !== null && block(t('webhooks.body'), t('webhooks.responseBody'), body || t('webhooks.emptyBody'))}`;
}

const block = (heading: string, label: string, text: string): Html =>
  html`<h3>${heading}</h3>${codeBlock(label, text)}`;

export const headersText = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

const duration = (ms: number | null): string => (ms === null ? '–' : milliseconds(ms));

export const timingList = (timing: TimingView): Html =>
  descriptionList([
    [t('webhooks.dnsLookup'), duration(timing.dns_ms)],
    [t('webhooks.connect'), duration(timing.connect_ms)],
    [t('webhooks.tlsHandshake'), duration(timing.tls_ms)],
    [t('webhooks.firstByte'), duration(timing.first_byte_ms)],
    [t('webhooks.total'), duration(timing.total_ms)],
  ]);
