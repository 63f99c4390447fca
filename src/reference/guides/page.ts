import { type Html, html, nothing, trusted } from '../../platform/http/html.ts';
import type { DocsAssets } from '../site/assets.ts';
import { renderDocsPage } from '../site/page.ts';
import { type Guide, guideGroups, guidesPath } from './guides.ts';
import type { Rendered } from './render.ts';

type Parts = { guide: Guide; rendered: Rendered; assets: DocsAssets; isDemo: boolean };

/** A guide as a page: the list of all guides, its text, and its headings. */
export const renderGuidePage = ({ guide, rendered, assets, isDemo }: Parts): string =>
  renderDocsPage({
    ...{ title: guide.title, area: 'Guides', assets, isDemo },
    navigation: html`${guideGroups.map((group) => navGroup(group, guide))}`,
    content: html`<article>${trusted(rendered.markup)}</article>`,
    aside: tableOfContents(rendered),
  });

const navGroup = ({ title, guides }: (typeof guideGroups)[number], current: Guide): Html => html`
  <p class="nav-title">${title}</p>
  <ul>${guides.map(
    (guide) => html`
    <li>
      <a href="${guidesPath}/${guide.slug}"${guide === current && html` aria-current="page"`}>${guide.title}</a>
    </li>`,
  )}
  </ul>`;

function tableOfContents({ sections }: Rendered): Html {
  const shown = sections.filter(({ depth }) => depth === 2);
  if (shown.length < 2) return nothing;
  return html`
  <nav class="contents" aria-label="On this page">
    <p class="nav-title">On this page</p>
    <ul>${shown.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
  </nav>`;
}
