import { type Html, html } from '../../platform/http/html.ts';

/**
 * Demo keys that occur in the documents. Each has a placeholder that is shown until readers enter real keys in the
 * browser.
 */
const exampleKeys: Record<string, { own: string; placeholder: string }> = {
  'demo-operator-key': { own: 'operator', placeholder: 'YOUR_OPERATOR_KEY' },
  'demo-key': { own: 'key', placeholder: 'YOUR_API_KEY' },
  '0123456789abcdef': { own: 'sdk', placeholder: 'YOUR_SDK_ID' },
};
const keyPattern = new RegExp(`\\b(?:${Object.keys(exampleKeys).join('|')})\\b`, 'g');

/**
 * Replaces the demo keys in a snippet with placeholders for the reader's keys. On a demo server, keeps the demo
 * keys, because they are valid there.
 */
export const withOwnKeys = (escaped: string, isDemo: boolean): string =>
  isDemo
    ? escaped
    : escaped.replace(keyPattern, (key) => {
        const { own, placeholder } = exampleKeys[key] as { own: string; placeholder: string };
        return `<span data-own="${own}">${placeholder}</span>`;
      });

/**
 * Form in which readers enter their keys. The keys are used only by the page script and stored only in the browser.
 */
export const ownKeysForm: Html = html`
<details class="own" hidden>
  <summary>Your key in the snippets</summary>
  <p>Kept by this browser until the tab is closed; sent only with the calls that you try here.</p>
  <div class="own-fields">
    <label>API key <input data-own-field="key" type="password" autocomplete="off" spellcheck="false"></label>
    <label>SDK ID <input data-own-field="sdk" autocomplete="off" spellcheck="false"></label>
    <label>
      Operator’s key <input data-own-field="operator" type="password" autocomplete="off" spellcheck="false">
    </label>
  </div>
</details>`;
