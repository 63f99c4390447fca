import { type Html, html } from '../../../platform/http/html.ts';
import type { TestOutcome } from '../../../webhooks/endpoints/test-endpoint.ts';
import type { TimingView } from '../../../webhooks/endpoints/timing-view.ts';
import { badge, codeBlock, descriptionList, notice } from '../../shell/components.ts';

/** The response to a test: status, timing, headers and the first 4 KiB of the body. */
export function testResult({ delivered, status, error, timing, headers, body }: TestOutcome): Html {
  const summary = html`
    <p>
      <strong>${delivered ? 'Test delivered.' : 'Test failed.'}</strong>
      ${status !== null && badge(String(status), delivered ? 'good' : 'bad')}
      ${error !== null && `${error.class}: ${error.message}`}
    </p>`;
  return html`
    ${notice(delivered ? 'done' : 'failed', summary)}
    ${timing !== null && timingList(timing)}
    ${headers !== null && html`<h3>Headers</h3>${codeBlock('Response headers', headersText(headers))}`}
    ${body !== null && html`<h3>Body</h3>${codeBlock('Response body', body === '' ? '(empty)' : body)}`}`;
}

export const headersText = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

const milliseconds = (ms: number | null): string => (ms === null ? '–' : `${ms} ms`);

export const timingList = (timing: TimingView): Html =>
  descriptionList([
    ['DNS lookup', milliseconds(timing.dns_ms)],
    ['Connect', milliseconds(timing.connect_ms)],
    ['TLS handshake', milliseconds(timing.tls_ms)],
    ['Time to first byte', milliseconds(timing.first_byte_ms)],
    ['Total', milliseconds(timing.total_ms)],
  ]);
