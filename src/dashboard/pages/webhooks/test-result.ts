import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { TestOutcome } from '../../../webhooks/endpoints/test-endpoint.ts';
import type { TimingView } from '../../../webhooks/endpoints/timing-view.ts';
import { badge, facts } from '../../shell/components.ts';

/** Everything a test came back with: status, timing, headers, the first 4 KiB of the body. */
export const testResult = ({ delivered, status, error, timing, headers, body }: TestOutcome): Html =>
  html`<div class="notice ${delivered ? 'done' : 'failed'}" role="status"><p><strong>${delivered ? 'The endpoint took the test.' : 'The endpoint did not take the test.'}</strong> ${status === null ? nothing : badge(String(status), delivered ? 'good' : 'bad')} ${error === null ? nothing : `${error.class}: ${error.message}`}</p></div>
${timing === null ? nothing : timingFacts(timing)}
${headers === null ? nothing : html`<h3>Headers</h3><pre class="block" tabindex="0" aria-label="Headers of the answer">${headersText(headers)}</pre>`}
${body === null ? nothing : html`<h3>Body</h3><pre class="block" tabindex="0" aria-label="Body of the answer">${body === '' ? '(empty)' : body}</pre>`}`;

export const headersText = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

const milliseconds = (ms: number | null): string => (ms === null ? '–' : `${ms} ms`);

export const timingFacts = (timing: TimingView): Html =>
  facts([
    ['Name lookup', milliseconds(timing.dns_ms)],
    ['Connect', milliseconds(timing.connect_ms)],
    ['TLS', milliseconds(timing.tls_ms)],
    ['First byte', milliseconds(timing.first_byte_ms)],
    ['In all', milliseconds(timing.total_ms)],
  ]);
