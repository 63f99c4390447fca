/**
 * Splits SQL text into tokens, omitting comments, white space, empty statements and `comment on` statements. Two
 * scripts with equal tokens have the same effect on a database. String literals, quoted identifiers and dollar-quoted
 * bodies are preserved byte for byte.
 */
export function sqlTokens(sql: string): string[] {
  const statements: string[][] = [[]];
  for (const token of scan(sql)) {
    if (token === ';') statements.push([]);
    else statements.at(-1)?.push(token);
  }
  return statements
    .filter((tokens) => tokens.length > 0 && !isCommentStatement(tokens))
    .flatMap((tokens) => [...tokens, ';']);
}

const isCommentStatement = ([first, second]: readonly string[]): boolean =>
  first?.toLowerCase() === 'comment' && second?.toLowerCase() === 'on';

/**
 * Lexical rules of PostgreSQL (manual, section 4.1). The expressions are tried in order at the current position; the
 * first match wins. A prefix such as E, B, X or U& belongs to the literal only if it directly precedes it.
 */
const space = /[ \t\n\r\f\v]+|--[^\n]*/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const escapeString = /[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)/y;
const escapeContinuation = /'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)/y;
const plainString = /(?:[uU]&|[A-Za-z])?'(?:[^']|'')*(?:'|$)/y;
const quotedIdentifier = /(?:[uU]&)?"(?:[^"]|"")*(?:"|$)/y;
const word = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d[\w.]*/y;
/** An operator ends where a comment begins. */
const operator = /(?:(?!--|\/\*)[-+*/<>=~!@#%^&|`?:])+/y;

function* scan(sql: string): Generator<string> {
  let at = 0;
  /** Whether a string literal on the next line would continue a literal that uses backslash escapes. */
  let continues = false;
  let brokeLine = false;
  const take = (expression: RegExp): string | null => {
    expression.lastIndex = at;
    const match = expression.exec(sql);
    return match === null || match[0] === '' ? null : match[0];
  };
  while (at < sql.length) {
    const skipped = take(space) ?? blockComment(sql, at);
    if (skipped !== null) {
      brokeLine ||= skipped.includes('\n');
      at += skipped.length;
      continue;
    }
    const escaped: string | null = take(escapeString) ?? (continues && brokeLine ? take(escapeContinuation) : null);
    const token: string =
      escaped ??
      take(plainString) ??
      take(quotedIdentifier) ??
      dollarString(sql, at, take(dollarTag)) ??
      take(word) ??
      take(operator) ??
      String.fromCodePoint(sql.codePointAt(at) as number);
    yield token;
    at += token.length;
    [continues, brokeLine] = [escaped !== null, false];
  }
}

/** Returns the block comment that starts at a position, up to its end or the end of the text. Block comments nest. */
function blockComment(sql: string, start: number): string | null {
  if (!sql.startsWith('/*', start)) return null;
  const mark = /\/\*|\*\//g;
  mark.lastIndex = start;
  let depth = 0;
  for (let match = mark.exec(sql); match !== null; match = mark.exec(sql)) {
    depth += match[0] === '/*' ? 1 : -1;
    if (depth === 0) return sql.slice(start, mark.lastIndex);
  }
  return sql.slice(start);
}

function dollarString(sql: string, start: number, tag: string | null): string | null {
  if (tag === null) return null;
  const end = sql.indexOf(tag, start + tag.length);
  return sql.slice(start, end === -1 ? sql.length : end + tag.length);
}
