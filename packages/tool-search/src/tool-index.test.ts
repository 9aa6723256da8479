import { describe, expect, test } from 'vitest';
import { ToolIndex } from './tool-index.ts';
import type { SearchableTool } from './tool-index.ts';

function aTool(server: string, name: string, changes: Partial<SearchableTool> = {}): SearchableTool {
  return { id: `${server} ${name}`, server, name, description: '', ...changes };
}

function namesOf(tools: readonly SearchableTool[], query: string, limit = 8): string[] {
  return new ToolIndex(tools).search(query, { limit }).map(({ tool }) => tool.id);
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
  ])('finds the tool for %j', (query, expected) => {
    expect(namesOf([...files, weather], query)[0]).toBe(expected);
  });

  test.each([
    ['a free slot on 2026-03-10', 'desk by_date'],
    ['a free slot on 10/03/2026', 'desk by_date'],
    ['a free slot on March 10th, 2026', 'desk by_date'],
    ['a free slot on the 10th of March', 'desk by_date'],
    ['a free slot at 7:30 pm', 'desk by_time'],
    ['a free slot at 7pm', 'desk by_time'],
    ['a free slot for ada@example.com', 'desk by_email'],
  ])('reads the kind of a value in %j', (query, expected) => {
    const desk = ['date', 'time', 'email', 'color'].map((kind) => aTool('desk', `by_${kind}`));

    expect(namesOf(desk, query)[0]).toBe(expected);
  });

  test('finds a tool by the values of a parameter', () => {
    const kind = { type: 'string', enum: ['Psychologist', 'Family counselor'] };
    const provider = aTool('care', 'find_provider', {
      description: 'Find a provider.',
      inputSchema: { type: 'object', properties: { kinds: { type: 'array', items: kind }, kind } },
    });
    const gym = aTool('gym', 'find_gym', { description: 'Find a gym.' });

    expect(namesOf([gym, provider], 'find a psychologist')[0]).toBe('care find_provider');
  });

  test.each(['add a note "list the directory entries"', "add a note 'get the forecast'"])(
    'takes quoted text for the value of an argument in %j',
    (query) => {
      const note = aTool('notes', 'add_note', { description: 'Add a note with a text.' });

      expect(namesOf([...files, weather, note], query)[0]).toBe('notes add_note');
    },
  );

  test('counts a word and its related words as one match', () => {
    const cancel = aTool('air', 'cancel_booking', { description: 'Cancel a booking.' });
    const flights = aTool('air', 'flight_search', {
      description: 'Search flights of any airline: fares, planes, airports, departures, and arrivals.',
    });

    expect(namesOf([cancel, flights, weather, ...files], 'cancel the flight')[0]).toBe('air cancel_booking');
  });

  test('trusts related words less in a long query', () => {
    const convert = aTool('money', 'convert', { description: 'Convert an amount of money.' });
    const trips = aTool('trips', 'itinerary', { description: 'Plan a vacation or a tour.' });
    const query =
      'travel with sightseeing, noisy children, heavy bags, wet shoes, cold soup, loud bells, tired legs, and bad roads was dear: convert it';

    expect(namesOf([convert, trips, weather, ...files], query)[0]).toBe('money convert');
  });

  test('finds nothing by a number or by a letter after an apostrophe', () => {
    const tools = [
      aTool('audio', 'play', { description: 'Play audio.' }),
      aTool('notes', 'list', { description: "List the team's notes." }),
    ];

    expect(namesOf(tools, "what's 3")).toEqual([]);
  });

  test('finds a tool by an English word for its Chinese description', () => {
    const forecast = aTool('q', 'q1', { description: '查询天气。' });

    expect(namesOf([...files, forecast], 'weather tomorrow')).toEqual(['q q1']);
  });

  test('knows the usual words of a server with many tools from the rare ones, also if it is the only one', () => {
    const letters = 'abcdefghij'.split('');
    const many = letters.flatMap((one) =>
      letters.map((other) =>
        aTool('one', `do_${one}${other}`, { description: `Create a record zone ${one}${other}.` }),
      ),
    );
    const rare = aTool('one', 'purge_cache', { description: 'Empty the cache.' });

    expect(namesOf([...many, rare], 'create a record that purges the cache of a zone', 1)).toEqual([
      'one purge_cache',
    ]);
  });

  test('gives one server all places if the tools of others hardly fit', () => {
    const repositories = ['issue', 'branch', 'commit', 'release', 'label', 'fork', 'tag', 'milestone'].map(
      (what) =>
        aTool('git', `list_repository_${what}`, { description: `List each ${what} of a repository.` }),
    );
    const other = aTool('shop', 'offers', { description: 'Offers of a shop, as a list.' });

    expect(namesOf([...repositories, other], 'list what a repository has')).not.toContain('shop offers');
  });

  test('returns nothing if no tool has anything in common with the query', () => {
    expect(namesOf(files, 'xylophone')).toEqual([]);
    expect(namesOf(files, '')).toEqual([]);
    expect(namesOf([], 'read a file')).toEqual([]);
  });

  test('filters tools before the list is cut', () => {
    const index = new ToolIndex([...files, weather]);

    const found = index.search('file', { limit: 1, includes: ({ name }) => name === 'writeFile' });

    expect(found.map(({ tool }) => tool.name)).toEqual(['writeFile']);
  });

  test('says which words were found in which fields', () => {
    const index = new ToolIndex([...files, weather]);

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

  test('orders equal tools by their IDs, and answers the same query in the same way', () => {
    const twins = ['b', 'c', 'a'].map((server) => aTool(server, 'ping', { description: 'Ping a host.' }));

    expect(namesOf(twins, 'ping')).toEqual(['a ping', 'b ping', 'c ping']);
    expect(namesOf(twins.toReversed(), 'ping')).toEqual(['a ping', 'b ping', 'c ping']);
  });

  test('finds the same tools with an index that was built in steps', async () => {
    const index = await ToolIndex.build([...files, weather]);

    expect(index.search('read file', { limit: 8 })).toEqual(
      new ToolIndex([...files, weather]).search('read file', { limit: 8 }),
    );
  });

  test('returns only tools within the distance', () => {
    const index = new ToolIndex([...files, weather]);
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

  test('does not get ahead of a tool that fits by repeating words', () => {
    const stuffed = aTool('bad', 'helper', { description: 'read file '.repeat(5_000) });

    expect(namesOf([...files, weather, stuffed], query)[0]).toBe('files read_file');
  });

  test('does not get ahead by a description with every word', () => {
    const words = 'read write list file folder weather forecast send mail search web issue repository image ';
    const stuffed = aTool('bad', 'assistant', { description: words.repeat(100) });

    expect(namesOf([...files, weather, stuffed], query)[0]).toBe('files read_file');
    expect(namesOf([...files, weather, stuffed], 'weather forecast')[0]).toBe('weather get_forecast');
  });

  test('does not get ahead by words in names of parameters', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 500 }, (_, at) => [`read_file_${at}`, { description: 'read file' }]),
    );
    const stuffed = aTool('bad', 'helper', { inputSchema: { type: 'object', properties } });

    expect(namesOf([...files, weather, stuffed], query)[0]).toBe('files read_file');
  });

  test('does not get ahead by words in values of parameters', () => {
    const text = { type: 'string', enum: Array.from({ length: 500 }, (_, at) => `read file ${at}`) };
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, text]));
    const stuffed = aTool('bad', 'helper', { inputSchema: { type: 'object', properties } });

    expect(namesOf([...files, weather, stuffed], query)[0]).toBe('files read_file');
  });

  test('does not fill all places with copies', () => {
    const copies = Array.from({ length: 100 }, (_, at) =>
      aTool('bad', `read_file_${at}`, { description: 'Read the complete contents of a file.' }),
    );

    const found = namesOf([...files, weather, ...copies], query);

    expect(found.filter((id) => id.startsWith('bad'))).toHaveLength(5);
    expect(found).toContain('files read_file');
  });

  test('cannot make a search slow with a long description or a deep schema', () => {
    const deep = Array.from({ length: 5_000 }).reduce<object>(
      (inner) => ({ type: 'object', properties: { inner } }),
      {},
    );
    const large = aTool('bad', 'large', { description: 'a/'.repeat(500_000), inputSchema: deep });

    expect(namesOf([...files, large], query)[0]).toBe('files read_file');
  });
});
