import sanitizeHtml from 'sanitize-html';

const allowedTags = 'p br ul ol li b strong i em u a span div h4 h5 h6 small sup sub table thead tbody tr th td'.split(
  ' ',
);

const colour = /^(#[\da-f]{3,8}|[a-z]{3,30}|(rgb|hsl)a?\([\d.,%\s/]{1,60}\))$/i;

/** What inline styles keep: colour, weight, alignment and size. Nothing that loads, covers or moves. */
const allowedStyles: Record<string, RegExp[]> = {
  color: [colour],
  'background-color': [colour],
  'font-weight': [/^(normal|bold|bolder|lighter|[1-9]00)$/i],
  'text-align': [/^(left|right|center|justify|start|end)$/i],
  'font-size': [
    /^(\d{1,2}(\.\d{1,3})?(px|pt)|[0-3](\.\d{1,3})?r?em|\d{1,3}%|(x-|xx-)?(small|large)|smaller|larger|medium)$/i,
  ],
};

/**
 * Terms that are safe to store and to show as raw HTML: allowed tags only, https links that open in a new window
 * (docs/interface.md#fetch-offers).
 */
export function sanitiseTerms(html: string): string {
  return sanitizeHtml(html, {
    allowedTags,
    allowedAttributes: { '*': ['style'], a: ['href', 'rel', 'target'] },
    allowedStyles: { '*': allowedStyles },
    allowedSchemes: ['https'],
    allowProtocolRelative: false,
    transformTags: {
      a: (tagName, { href, style }) => ({
        tagName,
        // A relative link would navigate the page or app that shows the terms.
        attribs: {
          ...(style === undefined ? {} : { style }),
          ...(href !== undefined && /^https:\/\//i.test(href) ? { href } : {}),
          rel: 'noopener noreferrer nofollow',
          target: '_blank',
        },
      }),
    },
  });
}
