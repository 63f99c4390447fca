/**
 * Formats a count with its English noun, for command output.
 * @param plural defaults to the singular with an `s`
 */
export const counted = (count: number, singular: string, plural = `${singular}s`): string =>
  `${count} ${count === 1 ? singular : plural}`;
