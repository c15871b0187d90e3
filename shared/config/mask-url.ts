/** A URL as it may be shown: providers of chains put keys into paths, queries and user names. */
export const maskUrl = (text: string): string => {
  const { protocol, host, pathname, search, username, password } = new URL(text);
  const isBare = pathname === '/' && search === '' && username === '' && password === '';
  return `${protocol}//${host}${isBare ? '' : '/…'}`;
};
