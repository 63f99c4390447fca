import { type Html, html, nothing, trusted } from '../../platform/http/html.ts';
import { exampleRequestOf } from '../openapi/example-request.ts';
import { renderCode } from '../site/highlight.ts';
import { inlineText } from '../site/inline-text.ts';
import type { Described, Reader, ResponseDescription } from './described.ts';
import { fieldOf, fieldsOf } from './fields.ts';
import { samplesOf } from './samples.ts';
import { tryForm } from './try-form.ts';

/** Renders an operation: its parameters and responses, next to code samples for the call in several languages. */
export const renderOperation = (operation: Described, reader: Reader): Html => html`
<section class="operation" id="${operation.id}">
  <div class="about">
    <h2>
      ${operation.summary}
      <a class="anchor" href="#${operation.id}" aria-label="Link to “${operation.summary}”">#</a>
    </h2>
    <p class="call">${methodLabel(operation.method)} <code>${operation.path}</code></p>
    <p>${inlineText(operation.description)}</p>
    <p class="access">${access[operation.scheme ?? 'none']}</p>
    ${['path', 'query', 'header'].map((place) => parameterList(operation, place, reader))}
    ${bodyFields(operation, reader)}
    <h3>Responses</h3>
    <ul class="answers">${operation.answers.map((answer) => answerItem(answer, reader))}</ul>
  </div>
  <div class="beside">
    ${codeSamples(operation, reader)}
    ${tryForm(operation, reader)}
    ${exampleAnswer(operation, reader)}
  </div>
</section>`;

export const methodLabel = (method: string): Html =>
  html`<span class="method ${method}">${method.toUpperCase()}</span>`;

const access = {
  bearer: html`Requires an <a href="/docs#keys">API key</a>.`,
  operator: html`Requires an <a href="/docs#keys">operator’s key</a>.`,
  none: html`Requires no key.`,
};

const placeNames: Record<string, string> = { path: 'Path', query: 'Query', header: 'Headers' };

function parameterList({ parameters }: Described, place: string, { document }: Reader): Html {
  const placed = parameters.filter((parameter) => parameter.in === place);
  if (placed.length === 0) return nothing;
  return html`
    <h3>${placeNames[place]}</h3>
    <ul class="fields">${placed.map(({ name, schema, required, description }) =>
      fieldOf(document, { name, schema, isRequired: required === true, ...(description && { description }) }),
    )}</ul>`;
}

const bodyFields = ({ body }: Described, { document }: Reader): Html =>
  body === null
    ? nothing
    : html`<h3>Body${!body.isRequired && html` <small>optional</small>`}</h3>${fieldsOf(document, body.schema)}`;

function answerItem({ status, description, schema }: ResponseDescription, { document }: Reader): Html {
  const isError = /^[45]/.test(status);
  const fields = schema === null || isError ? nothing : fieldsOf(document, schema);
  const head = html`<code class="${isError ? 'error' : 'ok'}">${status}</code> <span>${inlineText(description)}</span>`;
  if (fields === nothing) return html`<li>${head}</li>`;
  return html`<li><details><summary>${head}</summary>${fields}</details></li>`;
}

function codeSamples(operation: Described, { document, keys, publicUrl, isDemo }: Reader): Html {
  const samples = samplesOf(exampleRequestOf(document, operation, keys), publicUrl);
  return html`
    <div class="samples" role="group" aria-label="${operation.summary} in code">
      ${samples.map(
        ({ name, language, text }, index) => html`
        <div class="sample" data-language="${name}"${index > 0 && html` data-later`}>
          <p class="language">${name}</p>
          ${trusted(renderCode(text, language, isDemo))}
        </div>`,
      )}
    </div>`;
}

/** Renders the first successful response that has an example. */
function exampleAnswer({ answers }: Described, { isDemo }: Reader): Html {
  const success = answers.find(({ status, example }) => status.startsWith('2') && example !== undefined);
  if (success === undefined) return nothing;
  const text = JSON.stringify(success.example, null, 2);
  return html`
    <div class="example">
      <p class="language">Response ${success.status}</p>
      ${trusted(renderCode(text, 'json', isDemo))}
    </div>`;
}
