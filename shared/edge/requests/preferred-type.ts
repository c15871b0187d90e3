const JSON_TYPES: readonly string[] = ['application/json', 'application/*', '*/*'];

/**
 * Returns the media type that the header `Accept` prefers, the first of several; `undefined` for JSON, which every route
 * answers by default.
 * @param offered the types besides JSON
 */
export const preferredType = <Type extends string>(
  accept: string | undefined,
  offered: readonly Type[],
): Type | undefined => {
  let preferred: { type: Type | undefined; weight: number } | undefined;
  for (const range of accept?.split(',') ?? []) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const type = offered.find((one) => one === name);
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    const isKnown = type !== undefined || JSON_TYPES.includes(name);
    if (isKnown && weight > (preferred?.weight ?? 0)) preferred = { type, weight };
  }
  return preferred?.type;
};
