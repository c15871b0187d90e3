/**
 * Returns the answer of a token endpoint as RFC 6749 has it, with nothing but what is used here: providers leave the type
 * out, write scopes as a list, answer 201, or an error with 200, and none of that says who somebody is.
 * @param members what is used of a token
 */
export const conformAnswer = async (answer: Response, members: readonly string[]): Promise<Response> => {
  const text = await answer.text();
  const given = parseObject(text);
  if (!given) return new Response(text, { status: answer.status });
  const used = Object.entries(given).filter(([name, value]) => members.includes(name) && value != null);
  const { error, token_type: type } = given;
  const isError = !answer.ok || (typeof error === 'string' && used.length === 0);
  if (isError) {
    const code = typeof error === 'string' ? { error } : {};
    return Response.json(code, { status: answer.ok ? 400 : answer.status });
  }
  return Response.json({ ...Object.fromEntries<unknown>(used), token_type: type ?? 'bearer' });
};

/** Returns the object that a JSON text is; `undefined` if it is not one. What is wrong with it is not told: it may be secret. */
export const parseObject = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
};
