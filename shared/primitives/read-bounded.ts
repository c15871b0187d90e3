/** An answer has more bytes than any that is expected. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** Reads the body of an answer, which somebody else may make endless. @throws AnswerTooLarge */
export const readBounded = async ({ body }: Response, bytesMax: number): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > bytesMax) throw new AnswerTooLarge(`the answer has more than ${String(bytesMax)} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
