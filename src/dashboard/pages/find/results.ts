import { type Html, html } from '../../../platform/http/html.ts';
import { noMatches } from '../../../shell/components.ts';

export type FoundGroup = { title: string; entries: { text: string; detail: string; href: string }[] };

/** Options of the finder's list box, in groups. */
export function foundList(groups: readonly FoundGroup[]): Html {
  const shown = groups.filter(({ entries }) => entries.length > 0);
  if (shown.length === 0) return noMatches();
  let option = 0;
  const entry = ({ text, detail, href }: FoundGroup['entries'][number]): Html => html`
    <a role="option" aria-selected="false" tabindex="-1" id="found-${option++}" href="${href}">
      <span>${text}</span>${detail !== '' && html` <small>${detail}</small>`}
    </a>`;
  return html`${shown.map(
    ({ title, entries }, index) => html`
      <div role="group" aria-labelledby="found-group-${index}">
        <p id="found-group-${index}">${title}</p>
        ${entries.map(entry)}
      </div>`,
  )}`;
}
