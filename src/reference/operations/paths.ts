export const referencePath = '/docs';

export const tagPath = ({ slug }: { slug: string }): string => `${referencePath}/api/${slug}`;
