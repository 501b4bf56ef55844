pragma solidity 0.4.8;

/// An unknown id throws, which in this compiler is a jump to nowhere and uses up all gas.
contract ThrowStyleErc721 {
    mapping(uint256 => address) owners;
    mapping(address => uint256) public balanceOf;

    function ThrowStyleErc721(address[] holders) {
        for (uint256 i = 0; i < holders.length * 3; i++) {
            owners[i + 1] = holders[i / 3];
            balanceOf[holders[i / 3]]++;
        }
    }

    function supportsInterface(bytes4 id) constant returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd;
    }

    function ownerOf(uint256 id) constant returns (address) {
        if (owners[id] == 0) throw;
        return owners[id];
    }
}

/// Throws in its fallback too, like many tokens of 2016 and 2017: it has no supportsInterface.
contract ThrowStyleUnmarkedErc721 {
    mapping(uint256 => address) owners;
    mapping(address => uint256) public balanceOf;

    function ThrowStyleUnmarkedErc721(address[] holders) {
        for (uint256 i = 0; i < holders.length; i++) {
            owners[i + 1] = holders[i];
            balanceOf[holders[i]]++;
        }
    }

    function ownerOf(uint256 id) constant returns (address) {
        if (owners[id] == 0) throw;
        return owners[id];
    }

    function () {
        throw;
    }
}

contract ThrowStyleErc20 {
    uint8 public decimals = 3;
    mapping(address => uint256) public balanceOf;

    function ThrowStyleErc20(address[] holders) {
        for (uint256 i = 0; i < holders.length; i++) balanceOf[holders[i]] = 1500 + i;
    }

    function () {
        throw;
    }
}
