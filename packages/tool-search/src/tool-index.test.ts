import { describe, expect, test } from 'vitest';
import { ToolIndex } from './tool-index.ts';
import type { SearchableTool } from './tool-index.ts';

function aTool(server: string, name: string, changes: Partial<SearchableTool> = {}): SearchableTool {
  return { id: `${server} ${name}`, server, name, description: '', ...changes };
}

async function namesOf(tools: readonly SearchableTool[], query: string, limit = 8): Promise<string[]> {
  const index = await ToolIndex.build(tools);
  return index.search(query, { limit }).map(({ tool }) => tool.id);
}

const files = [
  aTool('files', 'read_file', { description: 'Read the complete contents of a file.' }),
  aTool('files', 'writeFile', { description: 'Create a file or replace its contents.' }),
  aTool('files', 'list_directory', { description: 'List the entries of a directory.' }),
];
const weather = aTool('weather', 'get_forecast', {
  description: 'Get the forecast for a place.',
  inputSchema: {
    type: 'object',
    properties: { latitude: { type: 'number', description: 'Degrees north.' } },
  },
});

describe('a search', () => {
  test.each([
    ['reading files', 'files read_file'],
    ['write a file', 'files writeFile'],
    ['will it rain tomorrow', 'weather get_forecast'],
    ['show the folder', 'files list_directory'],
    ['forcast', 'weather get_forecast'],
    ['latitude', 'weather get_forecast'],
    ['天气', 'weather get_forecast'],
    ['what is in /etc/hosts.d', 'files list_directory'],
  ])('finds the tool for %j', async (query, expected) => {
    expect((await namesOf([...files, weather], query))[0]).toBe(expected);
  });

  test.each([
    ['a free slot on 2026-03-10', 'desk by_date'],
    ['a free slot on 10/03/2026', 'desk by_date'],
    ['a free slot on March 10th, 2026', 'desk by_date'],
    ['a free slot on the 10th of March', 'desk by_date'],
    ['a free slot at 7:30 pm', 'desk by_time'],
    ['a free slot at 7pm', 'desk by_time'],
    ['a free slot for ada@example.com', 'desk by_email'],
  ])('reads the kind of a value in %j', async (query, expected) => {
    const desk = ['date', 'time', 'email', 'color'].map((kind) => aTool('desk', `by_${kind}`));

    expect((await namesOf(desk, query))[0]).toBe(expected);
  });

  test('finds a tool by the values of a parameter', async () => {
    const kind = { type: 'string', enum: ['Psychologist', 'Family counselor'] };
    const provider = aTool('care', 'find_provider', {
      description: 'Find a provider.',
      inputSchema: { type: 'object', properties: { kinds: { type: 'array', items: kind }, kind } },
    });
    const gym = aTool('gym', 'find_gym', { description: 'Find a gym.' });

    expect((await namesOf([gym, provider], 'find a psychologist'))[0]).toBe('care find_provider');
  });

  test.each(['add a note "list the directory entries"', "add a note 'get the forecast'"])(
    'takes quoted text for the value of an argument in %j',
    async (query) => {
      const note = aTool('notes', 'add_note', { description: 'Add a note with a text.' });

      expect((await namesOf([...files, weather, note], query))[0]).toBe('notes add_note');
    },
  );

  test('counts a word and its related words as one match', async () => {
    const cancel = aTool('air', 'cancel_booking', { description: 'Cancel a booking.' });
    const flights = aTool('air', 'flight_search', {
      description: 'Search flights of any airline: fares, planes, airports, departures, and arrivals.',
    });

    expect((await namesOf([cancel, flights, weather, ...files], 'cancel the flight'))[0]).toBe(
      'air cancel_booking',
    );
  });

  test('trusts related words less in a long query', async () => {
    const convert = aTool('money', 'convert', { description: 'Convert an amount of money.' });
    const trips = aTool('trips', 'itinerary', { description: 'Plan a vacation or a tour.' });
    const query =
      'convert what I paid: travel and sightseeing with noisy children, heavy bags, wet shoes, cold soup, loud bells, tired legs, and bad roads';

    expect((await namesOf([convert, trips, weather, ...files], query))[0]).toBe('money convert');
  });

  test('finds nothing by a number or by a letter after an apostrophe', async () => {
    const tools = [
      aTool('audio', 'play', { description: 'Play audio.' }),
      aTool('notes', 'list', { description: "List the team's notes." }),
    ];

    expect(await namesOf(tools, "what's 3")).toEqual([]);
  });

  test('finds a tool by an English word for its Chinese description', async () => {
    const forecast = aTool('q', 'q1', { description: '查询天气。' });

    expect(await namesOf([...files, forecast], 'weather tomorrow')).toEqual(['q q1']);
  });

  test('knows the usual words of a server with many tools from the rare ones, also if it is the only one', async () => {
    const letters = 'abcdefghij'.split('');
    const many = letters.flatMap((one) =>
      letters.map((other) =>
        aTool('one', `do_${one}${other}`, { description: `Create a record zone ${one}${other}.` }),
      ),
    );
    const rare = aTool('one', 'purge_cache', { description: 'Empty the cache.' });

    expect(await namesOf([...many, rare], 'create a record that purges the cache of a zone', 1)).toEqual([
      'one purge_cache',
    ]);
  });

  test('gives one server all places if the tools of others hardly fit', async () => {
    const repositories = ['issue', 'branch', 'commit', 'release', 'label', 'fork', 'tag', 'milestone'].map(
      (what) =>
        aTool('git', `list_repository_${what}`, { description: `List each ${what} of a repository.` }),
    );
    const other = aTool('shop', 'offers', { description: 'Offers of a shop, as a list.' });

    expect(await namesOf([...repositories, other], 'list what a repository has')).not.toContain(
      'shop offers',
    );
  });

  test('returns nothing if no tool has anything in common with the query', async () => {
    expect(await namesOf(files, 'xylophone')).toEqual([]);
    expect(await namesOf(files, '')).toEqual([]);
    expect(await namesOf([], 'read a file')).toEqual([]);
  });

  test('filters tools before the list is cut', async () => {
    const index = await ToolIndex.build([...files, weather]);

    const found = index.search('file', { limit: 1, includes: ({ name }) => name === 'writeFile' });

    expect(found.map(({ tool }) => tool.name)).toEqual(['writeFile']);
  });

  test('says which words were found in which fields', async () => {
    const index = await ToolIndex.build([...files, weather]);

    const [found] = index.search('show folder', { limit: 1 });

    expect(found?.reason).toEqual([
      { term: 'show', through: 'list', fields: ['name', 'first sentence', 'other tools on the server'] },
      {
        term: 'folder',
        through: 'directori',
        fields: ['name', 'first sentence', 'other tools on the server'],
      },
    ]);
  });

  test('orders equal tools by their IDs, and answers the same query in the same way', async () => {
    const twins = ['b', 'c', 'a'].map((server) => aTool(server, 'ping', { description: 'Ping a host.' }));

    expect(await namesOf(twins, 'ping')).toEqual(['a ping', 'b ping', 'c ping']);
    expect(await namesOf(twins.toReversed(), 'ping')).toEqual(['a ping', 'b ping', 'c ping']);
  });

  describe('by meaning', () => {
    const tools = [
      aTool('kitchen', 'find_recipe', { description: 'Find recipes for cooking.' }),
      aTool('trade', 'quote', { description: 'Shares at the stock exchange.' }),
      ...files,
      weather,
    ];

    test.each([
      ['vegan lunch with tofu and rice', 'kitchen find_recipe'],
      ['pasta with tomatoes', 'kitchen find_recipe'],
      ['umbrella tomorrow', 'weather get_forecast'],
    ])('finds the tool for %j, which shares no word with it', async (query, expected) => {
      const index = await ToolIndex.build(tools);

      const [found, ...others] = index.search(query, { limit: 8 });

      expect(found).toMatchObject({ tool: { id: expected }, reason: [] });
      expect(others).toEqual([]);
    });

    test('finds the tools for all parts of a query that needs several', async () => {
      const found = await namesOf(tools, 'pasta with tomatoes, and then an umbrella tomorrow', 2);

      expect(found.toSorted()).toEqual(['kitchen find_recipe', 'weather get_forecast']);
    });

    test('prefers the tool with the words of the query', async () => {
      const menu = aTool('inn', 'menu', { description: 'Lunch with tofu and rice.' });

      expect((await namesOf([...tools, menu], 'vegan lunch with tofu and rice'))[0]).toBe('inn menu');
    });
  });

  test('begins with the same tools, however many follow', async () => {
    const words = ['file', 'folder', 'read', 'write', 'page', 'mail', 'weather', 'list', 'search'];
    const many = Array.from({ length: 1_000 }, (_, at) =>
      aTool(`server-${at}`, `${words[at % 9]}_${words[(at >> 3) % 9]}`, {
        description: `${words[(at >> 5) % 9]} ${words[(at >> 2) % 9]} ${words[(at * 7) % 9]}`,
      }),
    );
    const index = await ToolIndex.build(many);

    for (const query of ['read a file', 'list the mail and search the page', 'weather']) {
      const found = index.search(query, { limit: 4 }).map(({ tool }) => tool.id);
      expect(found).toHaveLength(4);
      expect(found).toEqual(
        index
          .search(query, { limit: 1_000 })
          .slice(0, 4)
          .map(({ tool }) => tool.id),
      );
    }
  });

  test('finds the tool of another server behind many tools of one', async () => {
    const many = Array.from({ length: 900 }, (_, at) => aTool('large', `send_mail_${at}`));
    const other = aTool('small', 'send_mail', {
      description: 'With a description that says nothing else about it.',
    });
    const index = await ToolIndex.build([...many, other]);
    const boostOf = ({ server }: SearchableTool): number => (server === 'small' ? 0.75 : 1);

    const all = index.search('send a mail', { limit: 900, boostOf }).map(({ tool }) => tool.server);
    const few = index.search('send a mail', { limit: 8, boostOf }).map(({ tool }) => tool.server);

    expect(all.slice(0, 200)).not.toContain('small');
    expect(few).toContain('small');
  });

  test('returns only tools within the distance', async () => {
    const index = await ToolIndex.build([...files, weather]);
    const all = index.search('read file', { limit: 8 });
    const [first, second] = all;

    const near = index.search('read file', { limit: 8, maxDistance: first?.distance ?? 0 });

    expect(all.length).toBeGreaterThan(1);
    expect(second?.distance).toBeGreaterThan(first?.distance ?? 1);
    expect(near.map(({ tool }) => tool.id)).toEqual(['files read_file']);
  });
});

describe('a hostile server', () => {
  const query = 'read a file';

  test('does not get ahead of a tool that fits by repeating words', async () => {
    const stuffed = aTool('bad', 'helper', { description: 'read file '.repeat(5_000) });

    expect((await namesOf([...files, weather, stuffed], query))[0]).toBe('files read_file');
  });

  test('does not get ahead by a description with every word', async () => {
    const words = 'read write list file folder weather forecast send mail search web issue repository image ';
    const stuffed = aTool('bad', 'assistant', { description: words.repeat(100) });

    expect((await namesOf([...files, weather, stuffed], query))[0]).toBe('files read_file');
    expect((await namesOf([...files, weather, stuffed], 'weather forecast'))[0]).toBe('weather get_forecast');
  });

  test('does not get ahead by words in names of parameters', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 500 }, (_, at) => [`read_file_${at}`, { description: 'read file' }]),
    );
    const stuffed = aTool('bad', 'helper', { inputSchema: { type: 'object', properties } });

    expect((await namesOf([...files, weather, stuffed], query))[0]).toBe('files read_file');
  });

  test('does not get ahead by words in values of parameters', async () => {
    const text = { type: 'string', enum: Array.from({ length: 500 }, (_, at) => `read file ${at}`) };
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, text]));
    const stuffed = aTool('bad', 'helper', { inputSchema: { type: 'object', properties } });

    expect((await namesOf([...files, weather, stuffed], query))[0]).toBe('files read_file');
  });

  test('does not get ahead by words with a similar meaning', async () => {
    const words =
      'document text page open load fetch view content path disk storage folder data book letter ';
    const stuffed = aTool('bad', 'helper', { description: words.repeat(100) });

    expect((await namesOf([...files, weather, stuffed], query))[0]).toBe('files read_file');
  });

  test('does not fill all places with copies', async () => {
    const copies = Array.from({ length: 100 }, (_, at) =>
      aTool('bad', `read_file_${at}`, { description: 'Read the complete contents of a file.' }),
    );

    const found = await namesOf([...files, weather, ...copies], query);

    expect(found.filter((id) => id.startsWith('bad'))).toHaveLength(5);
    expect(found).toContain('files read_file');
  });

  test('cannot make a search slow with a long description or a deep schema', async () => {
    const deep = Array.from({ length: 5_000 }).reduce<object>(
      (inner) => ({ type: 'object', properties: { inner } }),
      {},
    );
    const large = aTool('bad', 'large', { description: 'a/'.repeat(500_000), inputSchema: deep });

    expect((await namesOf([...files, large], query))[0]).toBe('files read_file');
  });
});
