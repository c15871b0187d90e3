interface Waiting<Asked, Answer> {
  asked: readonly Asked[];
  resolve: (answers: Answer[]) => void;
  reject: (error: unknown) => void;
}

/** Several requests at a time, so that a slow answer does not hold up everybody. */
const UNDER_WAY_MAX = 4;

/**
 * Joins what callers ask for within one turn of the event loop, or while `UNDER_WAY_MAX` requests are under way, into few
 * requests. A caller that asks alone does not wait.
 */
export class RequestBatcher<Asked, Answer> {
  private waiting: Waiting<Asked, Answer>[] = [];
  private underWay = 0;

  constructor(
    /** Returns the answers in the order of the questions. */
    private readonly request: (asked: readonly Asked[]) => Promise<Answer[]>,
    /** The largest number of questions in one request. */
    private readonly askedMax: number,
  ) {}

  /** Returns the answers in the order of the questions. @throws what `request` throws */
  ask(asked: readonly Asked[]): Promise<Answer[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer[]>();
    this.waiting.push({ asked, resolve, reject });
    setImmediate(() => {
      this.begin();
    });
    return promise;
  }

  private begin(): void {
    while (this.waiting.length > 0 && this.underWay < UNDER_WAY_MAX) void this.requestFor(this.next());
  }

  /** Takes the first questions from the queue, as many as one request may have. */
  private next(): Waiting<Asked, Answer>[] {
    let count = 0;
    const end = this.waiting.findIndex(({ asked }, at) => {
      count += asked.length;
      return at > 0 && count > this.askedMax;
    });
    return this.waiting.splice(0, end === -1 ? this.waiting.length : end);
  }

  private async requestFor(gathered: readonly Waiting<Asked, Answer>[]): Promise<void> {
    this.underWay += 1;
    try {
      const answers = await this.request(gathered.flatMap(({ asked }) => asked));
      for (const { asked, resolve } of gathered) resolve(answers.splice(0, asked.length));
    } catch (error) {
      for (const { reject } of gathered) reject(error);
    } finally {
      this.underWay -= 1;
      this.begin();
    }
  }
}
