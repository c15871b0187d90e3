interface Waiting<Asked, Answer> {
  asked: readonly Asked[];
  resolve: (answers: Answer[]) => void;
  reject: (error: unknown) => void;
}

/** A node far away is not waited for by everybody. */
const UNDER_WAY_MAX = 4;

/**
 * Asks together for what is asked for while the event loop turns once, and while some requests are under way. What is asked for
 * alone does not wait.
 */
export class GatheredRequests<Asked, Answer> {
  private waiting: Waiting<Asked, Answer>[] = [];
  private underWay = 0;

  constructor(
    /** Answers in the order asked for. */
    private readonly request: (asked: readonly Asked[]) => Promise<Answer[]>,
    /** Of one request. */
    private readonly askedMax: number,
  ) {}

  /** In the order asked for. @throws what `request` throws */
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

  /** The first of those who wait, as many as one request may have. */
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
