pragma solidity ^0.4.26;

/// Before ERC721 was final: the draft's interface id, and a revert without data for an unknown id.
contract KittyStyleErc721 {
    mapping(uint256 => address) private owners;
    mapping(address => uint256) public balanceOf;

    constructor(address[] holders) public {
        for (uint256 i = 0; i < holders.length * 3; i++) give(holders[i / 3], i + 1);
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x9a20483d;
    }

    function ownerOf(uint256 id) external view returns (address owner) {
        owner = owners[id];
        require(owner != address(0));
    }

    function give(address to, uint256 id) private {
        owners[id] = to;
        balanceOf[to]++;
    }
}

/// An unknown id ends in an invalid opcode, which uses up all gas.
contract AssertStyleErc721 {
    mapping(uint256 => address) private owners;
    mapping(address => uint256) public balanceOf;

    constructor(address[] holders) public {
        for (uint256 i = 0; i < holders.length * 3; i++) {
            owners[i + 1] = holders[i / 3];
            balanceOf[holders[i / 3]]++;
        }
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd;
    }

    function ownerOf(uint256 id) external view returns (address owner) {
        owner = owners[id];
        assert(owner != address(0));
    }
}

/// An unknown id reverts, and the contract does not claim to be an ERC721.
contract UnmarkedErc721 {
    mapping(uint256 => address) private owners;
    mapping(address => uint256) public balanceOf;

    constructor(address[] holders) public {
        for (uint256 i = 0; i < holders.length; i++) {
            owners[i + 1] = holders[i];
            balanceOf[holders[i]]++;
        }
    }

    function ownerOf(uint256 id) external view returns (address owner) {
        owner = owners[id];
        require(owner != address(0));
    }
}

/// An unknown id belongs to the zero address.
contract ZeroOwnerErc721 {
    mapping(uint256 => address) public ownerOf;
    mapping(address => uint256) public balanceOf;

    constructor(address[] holders) public {
        for (uint256 i = 0; i < holders.length; i++) {
            ownerOf[i + 1] = holders[i];
            balanceOf[holders[i]]++;
        }
    }
}

/// Like CryptoPunks: balances, and owners by a function of another name.
contract PunkStyle {
    mapping(uint256 => address) public punkIndexToAddress;
    mapping(address => uint256) public balanceOf;

    constructor(address[] holders) public {
        for (uint256 i = 0; i < holders.length; i++) {
            punkIndexToAddress[i] = holders[i];
            balanceOf[holders[i]]++;
        }
    }
}

/// Like MKR and SAI: the symbol is 32 bytes, the decimals a whole word.
contract Bytes32SymbolErc20 {
    bytes32 public symbol = "T";
    uint256 public decimals = 18;
    mapping(address => uint256) public balanceOf;

    constructor(address[] holders) public {
        for (uint256 i = 0; i < holders.length; i++) balanceOf[holders[i]] = 1 ether + i;
    }
}
