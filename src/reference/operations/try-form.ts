import { type Html, html, nothing } from '../../platform/http/html.ts';
import type { Described, Reader } from './described.ts';

type Parameter = Described['parameters'][number];

/** Tags whose GET operations record events. */
const writingTags = new Set(['Tracking', 'Conversions']);
/** POST operations that only read. */
const readingPosts = new Set(['explainOffers', 'checkSuppression']);

/** Whether a call changes nothing, so that readers can run it without a confirmation. */
export const isReading = ({ id, method, tag }: Described): boolean =>
  method === 'get' ? !writingTags.has(tag) : readingPosts.has(id);

/**
 * Renders the form to run a call, which the page script sends to this service. A call that changes data runs only after
 * the reader allows changes; until then, a call with a dry run is made as a dry run.
 */
export function tryForm(operation: Described, { keys, isDemo }: Reader): Html {
  const { id, method, path, parameters, body, scheme } = operation;
  const canDryRun = parameters.some(({ name }) => name === 'dry_run');
  const own = scheme === 'operator' ? 'operator' : 'key';
  const isShown = ({ required, example }: Parameter) => required === true || example !== undefined;
  const visible = parameters.filter(isShown);
  const further = parameters.filter((parameter) => !isShown(parameter));
  const key = scheme === null ? undefined : keys[scheme];
  return html`
    <details class="try" hidden>
      <summary>Run this call</summary>
      <form data-method="${method.toUpperCase()}" data-path="${path}">
        ${
          scheme !== null &&
          html`
        <label>API key
          <input name="key" autocomplete="off" spellcheck="false" ${
            isDemo ? html`value="${key}"` : html`type="password" data-own-field="${own}"`
          }>
        </label>`
        }
        ${visible.map((parameter) => parameterField(parameter))}
        ${
          further.length > 0 &&
          html`
        <details>
          <summary>Optional parameters</summary>
          <div class="further">${further.map((parameter) => parameterField(parameter))}</div>
        </details>`
        }
        ${
          body === null
            ? nothing
            : html`
        <label>Body
          <textarea name="body" rows="${rowsOf(body.example)}" spellcheck="false">${textOf(body.example)}</textarea>
        </label>`
        }
        ${
          !isReading(operation) &&
          html`
        <label class="allow">
          <input type="checkbox" name="allow"${canDryRun && html` data-dry-run`}>
          Allow calls that change data${isDemo && ' in the demo'}
        </label>`
        }
        <button type="submit">Run</button>
      </form>
      <div class="outcome" id="${id}-outcome">
        <p role="status"></p>
        <pre tabindex="0" aria-label="Answer" hidden></pre>
      </div>
    </details>`;
}

const parameterField = ({ name, in: place, required, example }: Parameter): Html => html`
        <label>${name}${required !== true && html` <small>optional</small>`}
          <input name="${name}" data-in="${place}" value="${String(example ?? '')}"
            autocomplete="off" spellcheck="false">
        </label>`;

const textOf = (example: unknown): string => (example === undefined ? '' : JSON.stringify(example, null, 2));

const maxRows = 16;
const rowsOf = (example: unknown): number => Math.min(maxRows, textOf(example).split('\n').length + 1);
